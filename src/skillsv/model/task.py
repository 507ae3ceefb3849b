"""Tasks, the panels A and B, and the task windows of chains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task: `input` is what the agent is asked, `target` what a right answer is compared with.

    `files` maps a path in the workspace to the file that is copied there. `verifier` is a specification such as
    `contains` or `python:check.py:score`. `metadata` is shown to the agent. `undeclared` holds all other keys of the
    task's JSON object; they may reveal the answer, so only the verifier sees them. `digest` covers everything that the
    agent and the verifier see, file contents included. `should_trigger` says whether an agent should open the skill for
    this request (None: not said); only `skillsv trigger` uses it.
    """

    id: str
    input: str
    target: object = None
    stratum: str = ""
    files: Mapping[str, Path] = field(default_factory=dict)
    verifier: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)
    undeclared: Mapping[str, object] = field(default_factory=dict)
    digest: str = ""
    should_trigger: bool | None = None

    @property
    def all_metadata(self) -> dict[str, object]:
        """The metadata together with the undeclared keys, as the verifier sees them. Declared keys take precedence."""
        expected = {} if self.should_trigger is None else {"should_trigger": self.should_trigger}
        return {**self.undeclared, **expected, **self.metadata}


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelA:
    """T_A in the paper: the tasks on which values are estimated."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelB:
    """T_B in the paper: the tasks reserved for confirmation. Only the stage `confirm` accepts this type."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWindow:
    """W_k in the paper: the ids of the tasks on which every prefix of one chain is scored."""

    tasks: tuple[str, ...]
