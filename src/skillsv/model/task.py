"""Tasks, panels and windows: what the agent is asked, and which questions are shared by a chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One held-out task. `files` maps the path in the working folder to where the file lies now.

    `verifier` is a specification such as `contains` or `python:check.py:score`; `digest` covers all that the agent
    and the verifier see, file contents included. `metadata` is what the task declares for the agent. `undeclared` holds
    other keys of its line: they may give the answer away, so only the verifier sees them.
    """

    id: str
    input: str
    target: Any = None
    stratum: str = ""
    files: Mapping[str, Path] = field(default_factory=dict)
    verifier: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    undeclared: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    @property
    def all_metadata(self) -> dict[str, Any]:
        """Undeclared keys and metadata in one table, as the verifier sees them; a declared key wins."""
        return {**self.undeclared, **self.metadata}


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelA:
    """T_A: the tasks that values are estimated on."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelB:
    """T_B: the tasks kept for confirmation. Only the stage `confirm` accepts this type."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWindow:
    """W_k: the task ids that every prefix of one chain is scored on."""

    tasks: tuple[str, ...]
