"""What the outside world implements: agents, verifiers, editors, token counters, listeners."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from skillsv.model.coalition import Rendering
from skillsv.model.events import Event
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task


@runtime_checkable
class Agent(Protocol):
    """A frozen agent, and what its implementer owes.

    1. `fingerprint` changes whenever its answers may change (model, settings, program text).
    2. `run` answers one task with the skill it is given (None: no skill at all), inside `workspace`, a fresh folder
       that holds the task's files; it leaves nothing running behind.
    3. Trouble of the infrastructure raises `AgentFailure`; a wrong answer is an ordinary `Outcome`.

        class Parrot:
            fingerprint = "parrot/1"
            async def run(self, skill, task, replicate, workspace):
                return Outcome(answer=skill.text if skill else "")
    """

    @property
    def fingerprint(self) -> str:
        """Names everything that may change an answer."""

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task."""


@runtime_checkable
class Verifier(Protocol):
    """Scores one answer in [0, 1]; raises `VerifierFailure` when it cannot tell."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of this outcome."""


@runtime_checkable
class Editor(Protocol):
    """Rewrites a skill: gets the files and the report as text, returns the new files."""

    async def edit(self, files: dict[str, bytes], instruction: str) -> dict[str, bytes]:
        """The whole new skill folder, by relative path."""


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text under a named vocabulary."""

    name: str

    def __call__(self, text: str) -> int:
        """The number of tokens."""


class Listener(Protocol):
    """Follows a run: progress display, log, dashboard."""

    def __call__(self, event: Event) -> None:
        """Take note of one event; must return at once and never raise."""
