"""Settings that all agents share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """How agents are run.

    `timeout` is the time for one rollout in seconds (None: no limit). `output_bytes` is the longest answer that is
    accepted. `skill_dir` places the skill where a coding agent looks (`.claude/skills`). `forward_env` names the
    environment variables a program may see; all others are hidden from it. Files in a specification are relative to
    `folder`. `hide_target` keeps the task's target and verifier from the agent; they are shown by default because a
    scripted agent may want the whole line, while a program that calls a model has to choose what it passes on.
    `memory_bytes`, `file_bytes` and `processes` limit programs (None: no limit of our own).
    """

    timeout: float | None = 600.0
    output_bytes: int = 8 * 1024 * 1024
    skill_dir: str | None = None
    forward_env: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path.cwd)
    hide_target: bool = False
    memory_bytes: int | None = None
    file_bytes: int | None = 8 * 1024**3
    processes: int | None = None
