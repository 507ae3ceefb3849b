"""What runs share that go on at the same time in one process: the slots and the budget."""

from __future__ import annotations

from typing import Protocol

from skillsv.model.rollout import Usage
from skillsv.rollout.stop_rules import Progress, StopRule


class Member(Protocol):
    """The scheduler of one run, as its group sees it."""

    @property
    def active(self) -> int:
        """Rollouts that are started and not yet saved."""

    def progress(self) -> Progress:
        """What this run has spent."""

    def start_one(self) -> bool:
        """Start a queued rollout if a slot is free and no limit is reached; whether one was started."""


class RunGroup:
    """Runs that have `jobs` slots and one budget together. A run on its own is a group of one.

    A free slot goes to the run with the fewest rollouts under way: what one run leaves idle, the others use.
    """

    def __init__(self, jobs: int, budget: StopRule) -> None:
        self.budget = budget
        self._jobs = jobs
        self._members: list[Member] = []  # every run, also after its end: what it spent counts
        self._working: list[Member] = []

    @property
    def active(self) -> int:
        """Rollouts of all runs that are started and not yet saved."""
        return sum(member.active for member in self._working)

    def has_slot(self, slots: int | None) -> bool:
        """Whether a slot is free, on an engine with so many (None: no limit)."""
        return self.active < (self._jobs if slots is None else min(self._jobs, slots))

    def join(self, member: Member) -> None:
        """A run begins to work, for the first time or again."""
        self._working.append(member)
        if member not in self._members:
            self._members.append(member)

    def leave(self, member: Member) -> None:
        """A run has no more work for now."""
        self._working.remove(member)
        self.start_next()

    def start_next(self) -> None:
        """Start queued rollouts while slots are free."""
        waiting = list(self._working)
        while waiting:
            member = min(waiting, key=lambda member: member.active)
            if not member.start_one():
                waiting.remove(member)

    def progress(self) -> Progress:
        """What all runs have spent together."""
        found = [member.progress() for member in self._members]
        return Progress(
            attempts=sum(progress.attempts for progress in found),
            usage=sum((progress.usage for progress in found), start=Usage()),
            seconds=max((progress.seconds for progress in found), default=0.0),
        )
