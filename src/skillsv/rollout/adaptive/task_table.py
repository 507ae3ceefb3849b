"""What is known of one task: its scores, and the units that were seen to decide them.

A deterministic agent's answer to one task hangs on a few units only. A unit is *deciding* for a task when two scored
coalitions that differ in nothing else have different scores. All scored coalitions that hold the same deciding units
then share one score: their *pattern*. Two that share a pattern but not a score are a *conflict*: between them lies a
deciding unit that is not known yet, and bisection finds it.
"""

from __future__ import annotations

from collections.abc import Sequence

Mask = int
"""A coalition as bits: bit i is execution unit i. The trigger is always in."""

Score = tuple[float, ...]
"""One score per operator: a coalition is asked under all operators or not at all."""


class TaskTable:
    """The scored coalitions of one task, filed under their pattern."""

    def __init__(self) -> None:
        self.seen: dict[Mask, Score] = {}
        self.units: list[int] = []
        self.clean = 0
        self._deciding: Mask = 0
        self._filed: dict[Mask, list[Mask]] = {}
        self._conflict: tuple[Mask, Mask] | None = None

    def add(self, mask: Mask, score: Score) -> None:
        """Take note of a score; the first one of a coalition stands."""
        if mask not in self.seen:
            self.seen[mask] = score
            self._file(mask)
            self.clean += 1

    def forget(self, mask: Mask) -> None:
        """Drop a score that did not repeat."""
        del self.seen[mask]
        self._refile()

    def learn(self, unit: int) -> None:
        """A unit was seen to decide: all patterns become finer by it."""
        self._deciding |= 1 << unit
        self.units.append(unit)
        self.clean = 0
        self._refile()

    def knows(self, pattern: Mask) -> Score | None:
        """The score of the coalitions with exactly these deciding units; None if none was scored."""
        filed = self._filed.get(pattern)
        return None if filed is None else self.seen[filed[0]]

    @property
    def conflict(self) -> tuple[Mask, Mask] | None:
        """Two coalitions with the same deciding units and different scores, if any: the later one first."""
        return self._conflict

    def _refile(self) -> None:
        self._filed, self._conflict = {}, None
        for mask in self.seen:
            self._file(mask)

    def _file(self, mask: Mask) -> None:
        filed = self._filed.setdefault(mask & self._deciding, [])
        if filed and self._conflict is None and self.seen[filed[0]] != self.seen[mask]:
            others = (other for other in filed if self.seen[other] != self.seen[mask])
            self._conflict = (mask, min(others, key=lambda other: ((other ^ mask).bit_count(), other)))
        filed.append(mask)


def path_between(start: Mask, end: Mask, order: Sequence[int]) -> list[Mask]:
    """Dependency-closed coalitions from `start` down to what both share, then up to `end`, one unit at a time.

    `order` is a feasible order of all units: what is common to two closed coalitions, joined with a closed coalition
    cut off anywhere along a feasible order, is closed.
    """
    common = start & end
    down = [unit for unit in order if (start & ~common) >> unit & 1]
    up = [unit for unit in order if (end & ~common) >> unit & 1]
    path, mask = [start], start
    for unit in [*reversed(down), *up]:
        mask ^= 1 << unit
        path.append(mask)
    return path
