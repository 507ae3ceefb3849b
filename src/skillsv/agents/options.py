"""Settings that all agents share, and those of the chat agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Delivery = Literal["prompt", "files"]
ToolSet = Literal["all", "files", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How a model is talked to. All but `prices` may change answers, and are part of the agent's fingerprint.

    `base_url` is the address of an OpenAI-compatible server. `deliver` puts SKILL.md into the system prompt, or on disk
    with its name and description in the prompt and a tool that opens it. `tools`: files and programs, files only, or
    none (for models that cannot use tools). `temperature` None leaves it to the provider. `turns` is how many times the
    model may speak in one rollout. `stop` ends an answer where one of these texts would come. `sandbox` False runs the
    model's programs with the rights of the user. `prices` is a table of prices that goes before the built-in one.
    """

    base_url: str | None = None
    deliver: Delivery = "prompt"
    tools: ToolSet = "all"
    temperature: float | None = 0.0
    max_output_tokens: int = 2048
    turns: int = 16
    stop: tuple[str, ...] = ()
    sandbox: bool = True
    run_seconds: float = 60.0
    prices: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """How agents are run.

    `timeout` is the time for one rollout in seconds (None: no limit). `output_bytes` is the longest answer that is
    accepted. `skill_dir` places the skill where a coding agent looks (`.claude/skills`). `forward_env` names the
    environment variables a program may see; all others are hidden from it. Files in a specification are relative to
    `folder`. `show_target` gives the agent the whole line of a task: target, verifier and undeclared keys, too.
    `memory_bytes`, `file_bytes` and `processes` limit programs (None: no limit of our own). `chat` is for models only.
    `inspect_logs` is where tasks of Inspect leave their logs (None: nowhere).
    """

    timeout: float | None = 600.0
    output_bytes: int = 8 * 1024 * 1024
    skill_dir: str | None = None
    forward_env: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path.cwd)
    show_target: bool = False
    memory_bytes: int | None = None
    file_bytes: int | None = 8 * 1024**3
    processes: int | None = None
    chat: ChatOptions = field(default_factory=ChatOptions)
    inspect_logs: Path | None = None
