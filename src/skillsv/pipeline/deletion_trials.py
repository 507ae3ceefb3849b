"""Finds by trial what a steady agent does not need. Pure.

A trial scores the skill without a set of units, at first without all. Where a task scores less than with the full
skill, a binary search along the order of the deleted units finds one whose deletion breaks the task, and that unit is
kept from then on. A few of the broken tasks are searched at a time: what is kept for them often mends the others. Only
tasks on which the full skill scores anything can break, so only these are asked.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from skillsv.confirmation.paired_proof import PairedProof
from skillsv.decide.deletion_sets import DeletionSet, prefixes
from skillsv.model.coalition import Coalition, Observation, Operator
from skillsv.model.rollout import Request, RequestScores

REASON = "shrink:trial"
"""The reason of all requests of trials."""

SEARCHED_SHARE = 0.25
"""Share of the broken tasks that is searched at a time: a smaller one takes fewer rollouts, and more rounds."""

SEARCHED_LEAST = 2
"""Broken tasks that are searched at a time at least."""

NOTHING: DeletionSet = frozenset()
"""The set whose deletion leaves the full skill."""

Asked = tuple[DeletionSet, str]
"""A set of deleted units and a task."""

TrialRun = Generator[tuple[Request, ...], RequestScores, None]


@dataclass(slots=True, kw_only=True)
class DeletionTrials:
    """Trials on some tasks, and what they have shown so far.

    `groups` are the units that may go, each with what goes with it; `order` names the units that are deleted first, and
    are to blame last. `scores` holds all that was asked, `kept` the units that a task needs, `broken` the tasks that
    lost score in the last trial, which was without `tried`. `done` says whether the trials came to their end.
    """

    everything: Coalition
    groups: Mapping[str, DeletionSet]
    order: Sequence[str]
    scores: dict[Asked, float | None] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    tried: DeletionSet = NOTHING
    broken: tuple[str, ...] = ()
    used: int = 0
    limit: int = 0
    done: bool = False

    @property
    def removed(self) -> DeletionSet:
        """The units that no task needs, as far as it is known."""
        return frozenset(unit for unit, group in self.groups.items() if not group & self.kept)

    def count_changes(self) -> tuple[float, float, int]:
        """What tasks lost and gained by the last trial, and how many tasks the full skill was scored on."""
        old = {task: score for (removed, task), score in self.scores.items() if not removed and score is not None}
        new = {task: score for (removed, task), score in self.scores.items() if removed == self.tried}
        changes = [after - old[task] for task, after in new.items() if after is not None and task in old]
        return -sum(min(change, 0.0) for change in changes), sum(max(change, 0.0) for change in changes), len(old)

    def changes(self, removed: DeletionSet) -> dict[str, float | None]:
        """The change of the score of each task without these units; None where no trial tells.

        A task that was asked only without more units counts with that: what it did not need then, it does not need.
        Where the full skill scores nothing, only a trial of this set tells.
        """
        asked: dict[str, list[tuple[int, float]]] = {}
        for (without, task), score in self.scores.items():
            whole = self.scores.get((NOTHING, task))
            if score is not None and whole is not None and (without == removed or (whole and without > removed)):
                asked.setdefault(task, []).append((len(without), score - whole))
        old = [task for (without, task), score in self.scores.items() if not without and score is not None]
        return {task: min(asked[task])[1] if task in asked else None for task in old}

    def read(self, observations: Iterable[Observation]) -> None:
        """Take over the scores of a run."""
        for item in observations:
            if item.coalition and not item.replicate and not item.null_change:
                self.scores.setdefault((self.everything - item.coalition, item.task), item.score)

    def read_proof(self, proof: PairedProof) -> None:
        """Take over the scores of a proof whose tasks are not held out any more."""
        for (coalition, (task, change)), score in proof.scores.items():
            if not change and coalition <= self.everything:
                self.scores.setdefault((self.everything - coalition, task), score)

    def run(self, tasks: Sequence[str], rollouts: int, rng: np.random.Generator) -> TrialRun:
        """Keep what these tasks need, until none of them is broken or so many more rollouts are used."""
        self.limit, self.done = self.used + rollouts, False
        if not (yield from self._ask((NOTHING, task) for task in tasks)):
            return
        solved = [task for task in tasks if self.scores[NOTHING, task]]
        suspected, sure = solved, False
        while self.removed:
            if not (yield from self._ask((self.removed, task) for task in suspected)):
                return
            self.tried = self.removed
            self.broken = tuple(task for task in suspected if self._breaks(self.removed, task))
            if not self.broken:
                if sure:
                    break
                suspected, sure = solved, True  # what is kept for one task may break another
                continue
            sure = False
            count = max(SEARCHED_LEAST, math.ceil(SEARCHED_SHARE * len(self.broken)))
            chosen = [self.broken[place] for place in rng.permutation(len(self.broken))[:count].tolist()]
            if not (yield from self._search(chosen)):
                return
            suspected = list(self.broken)
        self.done = True

    def _breaks(self, removed: DeletionSet, task: str) -> bool:
        """Whether the task loses score; a missing score shows nothing."""
        old, new = self.scores[NOTHING, task], self.scores[removed, task]
        return old is not None and new is not None and new < old

    def _search(self, tasks: Sequence[str]) -> Generator[tuple[Request, ...], RequestScores, bool]:
        """Keep for each broken task the unit that breaks it; False where the rollouts do not suffice."""
        growing = [NOTHING, *prefixes([unit for unit in self.order if unit in self.removed], self.groups)]
        ends = {task: (0, len(growing) - 1) for task in tasks}
        while middles := {task: (low + high) // 2 for task, (low, high) in ends.items() if high - low > 1}:
            if not (yield from self._ask((growing[place], task) for task, place in middles.items())):
                return False
            for task, place in middles.items():
                low, high = ends[task]
                ends[task] = (low, place) if self._breaks(growing[place], task) else (place, high)
        for low, high in ends.values():
            added = growing[high] - growing[low]
            self.kept.add(next(unit for unit in self.order if unit in added and added <= self.groups[unit]))
        return True

    def _ask(self, wanted: Iterable[Asked]) -> Generator[tuple[Request, ...], RequestScores, bool]:
        """Score what is not known yet; False where the rollouts do not suffice."""
        requests = {
            (removed, task): Request(
                coalition=self.everything - removed, operator=Operator.DELETE, task=task, why=REASON
            )
            for removed, task in wanted
            if (removed, task) not in self.scores
        }
        if self.used + len(requests) > self.limit:
            return False
        if requests:
            self.used += len(requests)
            answers = yield tuple(requests.values())
            self.scores.update((asked, answers[request]) for asked, request in requests.items())
        return True
