"""Protocols that code outside this package may implement: agent, verifier, editor, token counter, listener."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from skillsv.model.coalition import Rendering
from skillsv.model.events import Event
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task


@runtime_checkable
class Agent(Protocol):
    """An agent whose behaviour does not change during a run. An implementation has three duties.

    1. `fingerprint` changes whenever its answers may change (model, settings, program text).
    2. `run` answers one task with the given skill (None: the bare agent) inside `workspace`, a fresh folder that holds
       the task's files. When it returns, no process that it started is still running.
    3. A failure of the infrastructure raises `AgentFailure`. A wrong answer is an ordinary `Outcome`.

        class EchoAgent:
            fingerprint = "echo/1"
            async def run(self, skill, task, replicate, workspace):
                return Outcome(answer=skill.text if skill else "")
    """

    @property
    def fingerprint(self) -> str:
        """A text that identifies everything that may change an answer."""

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task."""


@runtime_checkable
class Verifier(Protocol):
    """Scores one answer in [0, 1]. Raises `VerifierFailure` when it cannot decide on a score."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of this outcome."""


@runtime_checkable
class Editor(Protocol):
    """Rewrites a skill: receives its files and an instruction, returns the new files."""

    async def edit(self, files: dict[str, bytes], instruction: str) -> dict[str, bytes]:
        """All files of the new skill, by relative path."""


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text under a named vocabulary."""

    name: str

    def __call__(self, text: str) -> int:
        """The number of tokens."""


class Listener(Protocol):
    """Receives the events of a run, for example to show its progress or to write a log."""

    def __call__(self, event: Event, /) -> None:
        """Handle one event. It must return quickly and never raise."""
