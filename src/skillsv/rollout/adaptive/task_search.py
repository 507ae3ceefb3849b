"""One visit to a task: ask where most is open, and trace every surprise to the unit that caused it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from skillsv.rollout.adaptive.allocation import Monitor
from skillsv.rollout.adaptive.task_table import Mask, Score, TaskTable, path_between

Floats = npt.NDArray[np.float64]

EQUAL_ENDS = 0.25
"""How much an unknown pattern between two equal scores counts, against one between two different scores."""

VERIFIED = 0.5
"""How often a forecast is verified while patterns are unknown that all lie between equal scores."""

AT_JUMPS = 0.5
"""How many of the verified forecasts lie where the score is forecast to jump."""

DECIDES_HERE, ANY_UNIT = 2.0, 0.5
"""Weights of looking where a unit enters: one that decides this task, any one; against 1 for deciding elsewhere."""

UNKNOWN_UNIT = 0.5
"""In a bisection: the suspicion of a unit that decides no task so far, in units of the average unit's."""

ORDERS_LOOKED_AT = 32
MOST_UNITS = 40
"""Patterns are only told apart by this many deciding units when choosing what to ask; more are noise or chaos."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One coalition to score for the visited task, with the reason."""

    mask: Mask
    why: str


TaskSearch = Generator[Ask, Score | None, None]
"""Asks one coalition at a time; None means that no score will ever come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Feasible orders drawn once: `orders[q]` lists units, `place[q, i]` is the position of unit i."""

    orders: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of execution units."""
        return int(self.orders.shape[1])

    def prefix(self, number: int, length: int) -> Mask:
        """The coalition of the first `length` units of one order."""
        return sum(1 << unit for unit in self.orders[number, :length].tolist())


def search_task(
    table: TaskTable, pool: Pool, rng: np.random.Generator, monitor: Monitor, elsewhere: Floats
) -> TaskSearch:
    """Settle what conflicts, score one coalition where most is open, and settle again.

    `elsewhere` says for each unit on how many other tasks it is known to decide.
    """
    yield from _settle(table, pool, rng, monitor, elsewhere)
    mask, why = choose_probe(table, pool, rng, elsewhere)
    if mask not in table.seen:
        yield from _score(table, mask, why)
        yield from _settle(table, pool, rng, monitor, elsewhere)


def _score(table: TaskTable, mask: Mask, why: str) -> TaskSearch:
    score = yield Ask(mask=mask, why=why)
    if score is not None:
        table.add(mask, score)


def _settle(table: TaskTable, pool: Pool, rng: np.random.Generator, monitor: Monitor, elsewhere: Floats) -> TaskSearch:
    """Trace conflicts to units until all scores agree with their patterns, or a score stays missing."""
    while table.conflict is not None and not monitor.noisy:
        surprise = table.conflict[0]
        if surprise not in (0, (1 << pool.size) - 1):
            repeated = yield Ask(mask=surprise, why="repeat")
            if repeated is not None:
                monitor.repeats.append(repeated != table.seen[surprise])
                if monitor.repeats[-1]:
                    table.forget(surprise)
                    continue
        known = len(table.units)
        order = pool.orders[int(rng.integers(len(pool.orders)))].tolist()
        yield from _trace(table, path_between(*table.conflict, order), rng, monitor, elsewhere)
        if len(table.units) == known:
            return


def _trace(
    table: TaskTable, path: Sequence[Mask], rng: np.random.Generator, monitor: Monitor, elsewhere: Floats
) -> TaskSearch:
    """Bisect between two conflicting coalitions down to one unit; then check that the new score stays.

    The cut halves the suspicion, not the length: units that decide other tasks are likelier to decide this one.
    """
    units = [(before ^ after).bit_length() - 1 for before, after in pairwise(path)]
    reached = np.cumsum(elsewhere[units] + UNKNOWN_UNIT * max(float(elsewhere.mean()), 1.0 / len(elsewhere)))
    low, high = 0, len(path) - 1
    while high - low > 1:
        middle = _halfway(reached, low, high)
        if path[middle] not in table.seen:
            yield from _score(table, path[middle], "bisect")
        if path[middle] not in table.seen:
            return
        if table.seen[path[middle]] == table.seen[path[low]]:
            low = middle
        else:
            high = middle
    table.learn((path[low] ^ path[high]).bit_length() - 1)
    yield from _check(table, path, low, rng, monitor)


def _halfway(reached: Floats, low: int, high: int) -> int:
    """A place strictly between two places of a path, with half of the suspicion between them on either side.

    Step k of the path leads from place k to place k + 1, and `reached[k]` is the suspicion up to and with it.
    """
    before = float(reached[low - 1]) if low else 0.0
    middle = int(np.searchsorted(reached, (before + float(reached[high - 1])) / 2.0)) + 1
    return min(max(middle, low + 1), high - 1)


def _check(table: TaskTable, path: Sequence[Mask], low: int, rng: np.random.Generator, monitor: Monitor) -> TaskSearch:
    """One coalition further along the path, on a random side of the jump."""
    sides = [(low - 1, low + 1), (low + 2, low)]
    sides = [side for side in sides if 0 <= side[0] < len(path) and path[side[0]] not in table.seen]
    if not sides:
        return
    there, across = sides[int(rng.integers(len(sides)))]
    score = yield Ask(mask=path[there], why="check")
    if score is not None:
        monitor.further.append(score == table.seen[path[across]])
        table.add(path[there], score)


def choose_probe(table: TaskTable, pool: Pool, rng: np.random.Generator, elsewhere: Floats) -> tuple[Mask, str]:
    """The next coalition to score, always a prefix of a feasible order: an unknown pattern, or a forecast to verify.

    Among the unknown patterns along some orders, the one with most weight: it counts fully between known patterns of
    different scores. Where all that is unknown lies between equal scores, forecasts are verified in turn with it: the
    first score of a pattern cannot contradict anything, so it says nothing about units that are still hidden.
    """
    numbers = rng.integers(len(pool.orders), size=ORDERS_LOOKED_AT)
    best = _open_pattern(table, pool, numbers) if table.units else None
    if best is None or (not best.telling and rng.random() < VERIFIED):
        return _verified(table, pool, numbers, rng, elsewhere), "verify"
    number = int(numbers[best.row])
    places = np.sort(pool.place[number, table.units[:MOST_UNITS]])
    last = int(places[best.rank]) if best.rank < len(places) else pool.size
    return pool.prefix(number, int(rng.integers(int(places[best.rank - 1]) + 1, last + 1))), "pattern"


def _verified(
    table: TaskTable, pool: Pool, numbers: npt.NDArray[np.int64], rng: np.random.Generator, elsewhere: Floats
) -> Mask:
    """A coalition whose score is forecast, at the step where a unit enters: the scores on both sides are its marginal.

    Half of them where the score is forecast to jump: there a unit that is needed as well, or does as well, would show.
    The others most often at a unit that decides this task, else at one that decides others.
    """
    if rng.random() < AT_JUMPS:
        for number in numbers.tolist():
            jumps = _jumps(table, pool, number)
            if jumps:
                mask = pool.prefix(number, jumps[int(rng.integers(len(jumps)))] + int(rng.integers(2)))
                if mask not in table.seen:
                    return mask
    unit, number = int(rng.choice(pool.size, p=_suspicion(table, elsewhere))), int(numbers[0])
    return pool.prefix(number, int(pool.place[number, unit]) + int(rng.integers(2)))


def _jumps(table: TaskTable, pool: Pool, number: int) -> list[int]:
    """Places of one order at which a unit enters and the known score changes."""
    found, pattern, before = [], 0, table.knows(0)
    places = pool.place[number]
    for unit in sorted(table.units, key=places.__getitem__):
        pattern |= 1 << unit
        after = table.knows(pattern)
        if before is not None and after is not None and after != before:
            found.append(int(places[unit]))
        before = after
    return found


def _suspicion(table: TaskTable, elsewhere: Floats) -> Floats:
    """How likely each unit's step is worth a look: it decides here, it decides elsewhere, or it is any unit at all."""
    chance: Floats = ANY_UNIT / len(elsewhere) + elsewhere / max(elsewhere.sum(), 1.0)
    if table.units:
        chance[table.units] += DECIDES_HERE / len(table.units)
    chance /= chance.sum()
    return chance


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """An occurrence of an unknown pattern: its row, its rank (how many deciding units are in).

    `telling`: somewhere it lies between two known patterns of different scores.
    """

    row: int
    rank: int
    telling: bool


def _open_pattern(table: TaskTable, pool: Pool, numbers: npt.NDArray[np.int64]) -> _Open | None:
    """An occurrence of the weightiest unknown pattern."""
    units = table.units[:MOST_UNITS]
    ranked = np.argsort(pool.place[numbers][:, units], axis=1).tolist()
    weight: dict[Mask, float] = {}
    where: dict[Mask, tuple[int, int]] = {}
    telling: set[Mask] = set()
    for row, ranks in enumerate(ranked):
        pattern, before, waiting = 0, table.knows(0), []
        for rank, place in enumerate(ranks, start=1):
            pattern |= 1 << units[place]
            after = table.knows(pattern)
            if after is None:
                waiting.append(pattern)
                where.setdefault(pattern, (row, rank))
                continue
            for unknown in waiting:
                weight[unknown] = weight.get(unknown, 0.0) + (1.0 if after != before else EQUAL_ENDS)
            if after != before:
                telling.update(waiting)
            before, waiting = after, []
    if not weight:
        return None
    best = max(weight, key=lambda pattern: (weight[pattern], -pattern))
    return _Open(row=where[best][0], rank=where[best][1], telling=best in telling)
