"""Old version against new in pairs, with looks on the way: no worse, worse, or not shown.

`max_drop` is the border of both verdicts. "No worse" needs the lower bound of the change above it, "worse" the upper
bound below it, so the two contradict each other only by an error. Both bounds come from `gate.lower_bound`. The allowed
error of "no worse" is that of the gate's level; that of "worse" is a hundredth of it, so that runs of the same input
with other noise do not contradict each other: with normal bounds and a true drop at the least favourable place, 20 runs
hold both verdicts with a chance of 2 %. Between the bounds nothing is shown.

"No worse" is about tasks like these: each task counts once, with its mean. "Worse" is about these tasks, and so is "no
worse" with `same_tasks`: each pair counts once. The tasks are then strata that all runs share, so the mean varies less
than that of as many independent pairs, and the bound is on the safe side.

Each look spends its share of both errors; their sum bounds the whole (Bonferroni), whatever the looks have in common.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.confirmation.gate import GATE_DRAWS, Gate, interval, lower_bound
from skillsv.confirmation.paired_proof import Pair, PairScores
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.edit import ProofOutcome
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.value import Interval

LOOKS = ((0.25, 0.1), (0.5, 0.2), (1.0, 0.7))
"""The looks: the share of the pairs that are there, and the share of the errors that the look may spend."""

WORSE_SHARE = 0.01
"""The error of the verdict "worse", as a share of that of "no worse"."""

TAIL_DRAWS = 200_000
"""Draws of the bound of "worse": its quantile is the 20,000th part at the first look."""

REPEATED_TASKS = 8
"""Tasks with several pairs whose scores never differ that show an agent to repeat itself."""

REASON = "check"
"""The reason of all requests of a check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """The mean scores of one task with the old and the new version."""

    task: str
    old: float
    new: float
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialResult:
    """What the pairs show: the change lies between `at_worst` and `at_best`. `tasks` begin with the largest loss."""

    outcome: ProofOutcome
    old: Interval
    new: Interval
    delta: Interval
    at_worst: float
    at_best: float
    pairs: int
    tasks: tuple[TaskChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialProof:
    """A proof that is planned: both versions, the pairs in their order, and what must be shown."""

    old: Coalition
    new: Coalition
    pairs: Sequence[Pair]
    gate: Gate
    same_tasks: bool = False

    def tasks_needed(self) -> int:
        """The fewest tasks (pairs, on the same tasks) that show "no worse" where no score changes.

        Where scores rise, fewer can.
        """
        return replace(self.gate, level=1 - LOOKS[-1][1] * (1 - self.gate.level)).tasks_needed()

    def run(self) -> Generator[tuple[Request, ...], RequestScores, SequentialResult]:
        """Request pairs look by look, until a verdict is shown or all pairs are there."""
        scores: dict[Request, float | None] = {}
        for number, (part, share) in enumerate(LOOKS):
            pairs = tuple(self.pairs[: max(1, math.ceil(part * len(self.pairs)))])
            wanted = [request for pair in pairs for request in self.requests(pair) if request not in scores]
            if wanted:
                scores.update((yield tuple(wanted)))
            seen = self._read(pairs, scores)
            last = len(pairs) == len(self.pairs) or self._repeats_itself(seen)
            result = judge(seen, self.gate, LOOKS[-1][1] if last else share, number, same_tasks=self.same_tasks)
            if last or result.outcome is not ProofOutcome.NOT_SHOWN:
                break
        return result

    def requests(self, pair: Pair) -> tuple[Request, Request]:
        """The rollouts of both versions for one pair."""
        task, change = pair
        old, new = (
            Request(coalition=version, operator=Operator.DELETE, task=task, why=REASON, null_change=change)
            for version in (self.old, self.new)
        )
        return old, new

    def _read(self, pairs: Sequence[Pair], scores: RequestScores) -> PairScores:
        both = [self.requests(pair) for pair in pairs]
        old, new = (
            np.array([np.nan if (score := scores[row[side]]) is None else score for row in both]) for side in (0, 1)
        )
        return PairScores(pairs=tuple(pairs), old=old, new=new)

    def _repeats_itself(self, scores: PairScores) -> bool:
        """Whether every task was run and repeats gave the same scores: more pairs would show nothing new."""
        by_task = scores.by_task()
        repeated = [rows for rows in by_task.values() if len(rows[0]) > 1]
        return (
            not self.same_tasks
            and {task for task, _ in self.pairs} <= set(by_task)
            and len(repeated) >= REPEATED_TASKS
            and all(np.ptp(side) == 0 for rows in repeated for side in rows)
        )


def judge(scores: PairScores, gate: Gate, share: float, look: int = 0, *, same_tasks: bool = False) -> SequentialResult:
    """The verdict of the pairs so far, which may spend this share of the errors. The same scores, the same verdict."""
    by_task = scores.by_task()
    rng = np.random.default_rng(look)
    rows = [
        TaskChange(task=task, old=float(old.mean()), new=float(new.mean()), pairs=len(old))
        for task, (old, new) in by_task.items()
    ]
    old, new = np.array([row.old for row in rows]), np.array([row.new for row in rows])
    changes, error = new - old, share * (1 - gate.level)
    by_pair = (scores.new - scores.old)[~np.isnan(scores.new - scores.old)]
    at_worst = lower_bound(by_pair if same_tasks else changes, 1 - error, rng)
    # Far in the tail a quantile needs many draws: only where the mean leaves the verdict "worse" open.
    draws = TAIL_DRAWS if by_pair.mean() < -gate.max_drop else GATE_DRAWS
    at_best = -lower_bound(-by_pair, 1 - error * WORSE_SHARE, rng, draws=draws)
    outcome = ProofOutcome.NOT_SHOWN
    if at_worst >= -gate.max_drop:
        outcome = ProofOutcome.NO_WORSE
    elif at_best < -gate.max_drop:
        outcome = ProofOutcome.WORSE
    return SequentialResult(
        outcome=outcome,
        old=interval(old, gate.level, rng),
        new=interval(new, gate.level, rng),
        delta=interval(changes, gate.level, rng),
        at_worst=at_worst,
        at_best=at_best,
        pairs=sum(row.pairs for row in rows),
        tasks=tuple(sorted(rows, key=lambda row: (row.new - row.old, row.task))),
    )
