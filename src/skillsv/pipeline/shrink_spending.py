"""What a shrink has spent of its limits, over all its sessions: first batch, values, judge, trials, proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from skillsv.model.rollout import Usage
from skillsv.model.value import Spending
from skillsv.rollout import Runner
from skillsv.rollout.stop_rules import Progress

VALUES, JUDGE, TRIALS, PROOF = "values", "judge", "trials", "proof"
"""The parts of a shrink that take rollouts."""


@dataclass(slots=True, kw_only=True)
class SpentRollouts:
    """The limit of rollouts, and the attempts that count towards it. Several agents share one."""

    limit: int
    attempts: int = 0
    retries: int = 0

    @property
    def left(self) -> int:
        """The attempts that may still be made."""
        return max(self.limit - self.attempts, 0)


@dataclass(slots=True, kw_only=True)
class ShrinkSpending:
    """What the sessions of one agent spent: `rollouts` of all agents together, usage of this one, time since the start.

    `paid` counts the finished rollouts of each part, `asked` those that earlier commands paid for, too.
    """

    rollouts: SpentRollouts
    started: float = field(default_factory=anyio.current_time)
    usage: Usage = field(default_factory=Usage)
    paid: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)

    @property
    def progress(self) -> Progress:
        """What counts towards the limits of the next session."""
        seconds = anyio.current_time() - self.started
        return Progress(attempts=self.rollouts.attempts, usage=self.usage, seconds=seconds)

    def add(self, part: str, attempts: int, spending: Spending, usage: Usage) -> None:
        """Count a session. Attempts beyond one for each rollout are retries: they take from the rest."""
        finished = spending.spent + spending.failed
        self.rollouts.attempts += attempts
        self.rollouts.retries += max(attempts - finished, 0)
        self.usage += usage
        self.paid[part] += finished
        self.asked[part] += finished + spending.reused

    @contextmanager
    def counting(self, runner: Runner, part: str) -> Iterator[None]:
        """Count what this runner spends, also where an error ends it."""
        try:
            yield
        finally:
            self.add(part, runner.attempts, runner.spending, runner.usage)
