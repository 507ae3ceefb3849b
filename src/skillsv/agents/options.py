"""The settings that all agents share, and those of a model agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Delivery = Literal["prompt", "files"]
ToolSet = Literal["all", "files", "none"]
StdinFormat = Literal["json", "text"]

CODING_PROGRAMS = ("claude-code", "codex", "gemini", "opencode", "pi", "mini-swe-agent", "aider")
"""The names of the rows of `skillsv.agents.coding.PROGRAMS`, which is imported only when a row is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """Settings of the chat with a model. All but `prices` may change answers: they are part of the fingerprint.

    - `base_url`: the address of an OpenAI-compatible server.
    - `deliver`: `prompt` puts SKILL.md into the system prompt. `files` puts the skill on disk, its name and description
      into the prompt, and offers a tool that opens it.
    - `tools`: `all` (files and programs), `files`, or `none` for models that cannot use tools.
    - `temperature`: None leaves the temperature to the provider.
    - `turns`: the largest number of requests to the model in one rollout.
    - `stop`: an answer ends before the first of these texts.
    - `sandbox`: False runs the programs of the model with the rights of the user.
    - `run_seconds`: the time limit of one such program.
    - `prices`: a table of prices that is read before the public price list.
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
    """Settings of an agent of any kind.

    - `timeout`: the time limit of one rollout in seconds (None: no limit).
    - `output_bytes`: the longest answer that is accepted.
    - `skill_dir`: the folder in the workspace where a coding agent looks for skills (`.claude/skills`).
    - `stdin`: what a command agent reads there: the task as JSON, or its input as text.
    - `forward_env`: the environment variables that a program may see; all others are hidden from it.
    - `folder`: file names in a specification are relative to it.
    - `agent_version`: a text that stands for the agent's files in its fingerprint (None: their bytes do).
    - `depends_on`: further files, folders and globs that the fingerprint covers.
    - `show_target`: give the agent all fields of a task, also its target, its verifier and undeclared keys.
    - `memory_bytes`, `file_bytes`, `processes`: limits of programs (None: SkillSV sets no limit).
    - `sandboxed`: a `command:` agent runs in the sandbox, with the network.
    - `container`: the container program that is the sandbox, with its image (empty: bubblewrap).
    - `chat`: settings of model agents.
    - `inspect_logs`: the folder where Inspect tasks write their logs (None: logs are not kept).
    """

    timeout: float | None = 600.0
    output_bytes: int = 8 * 1024 * 1024
    skill_dir: str | None = None
    stdin: StdinFormat = "json"
    forward_env: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path.cwd)
    agent_version: str | None = None
    depends_on: tuple[str, ...] = ()
    show_target: bool = False
    memory_bytes: int | None = None
    file_bytes: int | None = 8 * 1024**3
    processes: int | None = None
    sandboxed: bool = False
    container: str = ""
    chat: ChatOptions = field(default_factory=ChatOptions)
    inspect_logs: Path | None = None
