"""The search on one task for the units that decide its score, under a deterministic agent.

One search asks for one coalition where most is open. If its score contradicts the task's table, the search bisects
between the two conflicting coalitions until it has found the deciding unit.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from skillsv.model.coalition import AdaptiveReason
from skillsv.model.task_table import Mask, Score, TaskTable
from skillsv.rollout.adaptive.closed_coalitions import path_between
from skillsv.rollout.adaptive.noise_monitor import NoiseMonitor
from skillsv.rollout.adaptive.order_pool import Integers, OrderPool

Floats = npt.NDArray[np.float64]

EQUAL_ENDS = 0.25
"""Weight of an unknown pattern between two equal scores; between two different scores it is 1."""

SAMPLED_SHARE = 0.3
"""Share of requests that are prefixes drawn from mu, whatever the table says: they show how often forecasts fail."""

DOUBTED_SHARE = 0.35
"""Share of requests at the coalition where the units that decide other tasks speak most against the forecast."""

DOUBTS_COMPARED = 6
"""Coalitions with the strongest doubt that are looked at until one was not scored yet."""

VERIFY_SHARE = 0.5
"""Share of requests that verify a forecast while all unknown patterns lie between equal scores."""

AT_CHANGES = 0.5
"""Share of the verified forecasts that lie where the score is predicted to change."""

DECIDES_HERE = 2.0
"""Weight of verifying next to a unit that decides this task; a unit that decides other tasks has 1."""

ANY_UNIT = 0.5
"""Weight of verifying next to any unit; a unit that decides other tasks has 1."""

UNKNOWN_UNIT = 0.5
"""Bisection: weight of a unit that decides no task so far, as a share of the average unit's weight."""

MIDDLE = 0.5
"""A score between a wrong answer and a right one: what speaks against it may lie on either side."""

ORDERS_COMPARED = 32
"""Orders of the pool that are compared to choose the next coalition: a sample, because comparing takes time."""

MOST_UNITS = 40
"""Deciding units of a task that tell patterns apart here: a task with more has a noisy or chaotic agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoalitionRequest:
    """A coalition to score on the searched task, with the reason."""

    mask: Mask
    why: AdaptiveReason


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFindings:
    """What is known of each unit on all tasks: the number of tasks that it decides, and the sum of its effects."""

    decided: Floats
    effect: Floats


TaskSearch = Generator[CoalitionRequest, Score | None, None]
"""Requests one coalition at a time and receives its score; None means that the score will stay missing."""


def search_task(
    table: TaskTable, pool: OrderPool, rng: np.random.Generator, monitor: NoiseMonitor, units: UnitFindings
) -> TaskSearch:
    """Resolve conflicts of the table, score one coalition where most is open, and resolve conflicts again."""
    yield from _resolve_conflicts(table, pool, rng, monitor, units.decided)
    mask, why = choose_probe(table, pool, rng, units)
    if mask not in table.scores:
        yield from _score(table, mask, why)
        yield from _resolve_conflicts(table, pool, rng, monitor, units.decided)


def next_request(search: TaskSearch, score: Score | None) -> CoalitionRequest | None:
    """Send a score (None at the start) to a search and return its next request; None if the search has ended."""
    try:
        return search.send(score)
    except StopIteration:
        return None


def _score(table: TaskTable, mask: Mask, why: AdaptiveReason) -> TaskSearch:
    score = yield CoalitionRequest(mask=mask, why=why)
    if score is not None:
        table.add(mask, score)


def _resolve_conflicts(
    table: TaskTable, pool: OrderPool, rng: np.random.Generator, monitor: NoiseMonitor, elsewhere: Floats
) -> TaskSearch:
    """Trace conflicts to deciding units until no conflict is left, the agent proves noisy, or a score is missing."""
    while table.conflict is not None and not monitor.noisy:
        unexpected = table.conflict[0]
        if unexpected not in (0, (1 << pool.size) - 1):
            repeated = yield CoalitionRequest(mask=unexpected, why=AdaptiveReason.REPEAT)
            if repeated is not None:
                monitor.repeats.append(repeated != table.scores[unexpected])
                if monitor.repeats[-1]:
                    table.remove(unexpected)
                    continue
        known = len(table.deciding)
        order = pool.orders[int(rng.integers(len(pool.orders)))].tolist()
        yield from _bisect(table, path_between(*table.conflict, order), rng, monitor, elsewhere)
        if len(table.deciding) == known:
            return


def _bisect(
    table: TaskTable, path: Sequence[Mask], rng: np.random.Generator, monitor: NoiseMonitor, elsewhere: Floats
) -> TaskSearch:
    """Bisect the path between two conflicting coalitions down to one unit; then check a neighbour of the change.

    The cut halves the weight of the units, not their number: a unit that decides other tasks has a larger weight,
    because it is more likely to decide this one.
    """
    units = [(before ^ after).bit_length() - 1 for before, after in pairwise(path)]
    weight_up_to = np.cumsum(elsewhere[units] + UNKNOWN_UNIT * max(float(elsewhere.mean()), 1.0 / len(elsewhere)))
    low, high = 0, len(path) - 1
    while high - low > 1:
        middle = _middle(weight_up_to, low, high)
        if path[middle] not in table.scores:
            yield from _score(table, path[middle], AdaptiveReason.BISECT)
        if path[middle] not in table.scores:
            return
        if table.scores[path[middle]] == table.scores[path[low]]:
            low = middle
        else:
            high = middle
    table.add_deciding([(path[low] ^ path[high]).bit_length() - 1])
    yield from _check_neighbour(table, path, low, rng, monitor)


def _middle(weight_up_to: Floats, low: int, high: int) -> int:
    """A place strictly between two places of a path, with half of the weight between them on either side.

    Step k of the path leads from place k to place k + 1; `weight_up_to[k]` is the weight of steps 0 to k.
    """
    before = float(weight_up_to[low - 1]) if low else 0.0
    middle = int(np.searchsorted(weight_up_to, (before + float(weight_up_to[high - 1])) / 2.0)) + 1
    return min(max(middle, low + 1), high - 1)


def _check_neighbour(
    table: TaskTable, path: Sequence[Mask], low: int, rng: np.random.Generator, monitor: NoiseMonitor
) -> TaskSearch:
    """Score the next coalition on a random side of the change; the score must not be that of the other side."""
    sides = [(low - 1, low + 1), (low + 2, low)]
    sides = [side for side in sides if 0 <= side[0] < len(path) and path[side[0]] not in table.scores]
    if not sides:
        return
    neighbour, across = sides[int(rng.integers(len(sides)))]
    score = yield CoalitionRequest(mask=path[neighbour], why=AdaptiveReason.CHECK)
    if score is not None:
        monitor.neighbours.append(score == table.scores[path[across]])
        table.add(path[neighbour], score)


def choose_probe(
    table: TaskTable, pool: OrderPool, rng: np.random.Generator, units: UnitFindings
) -> tuple[Mask, AdaptiveReason]:
    """Choose the next coalition to score, always a prefix of a feasible order.

    A share of them is drawn from mu, and a share lies where the forecast is doubted most. Otherwise the unknown pattern
    with the largest weight along some orders is chosen. Where all unknown patterns lie between equal scores, forecasts
    are verified in turn with them: the first score of a pattern cannot contradict another score, so it reveals no
    deciding unit.
    """
    draw = rng.random()
    if draw < SAMPLED_SHARE and pool.size > 1:
        return pool.prefix(int(rng.integers(len(pool.orders))), int(rng.integers(1, pool.size))), AdaptiveReason.SAMPLE
    numbers = rng.integers(len(pool.orders), size=ORDERS_COMPARED)
    if draw < SAMPLED_SHARE + DOUBTED_SHARE:
        doubted = _most_doubted(table, pool, numbers, units.effect, rng)
        if doubted is not None:
            return doubted, AdaptiveReason.VERIFY
    best = _unknown_pattern(table, pool, numbers) if table.deciding else None
    if best is None or (not best.informative and rng.random() < VERIFY_SHARE):
        return _choose_forecast(table, pool, numbers, rng, units.decided), AdaptiveReason.VERIFY
    number = int(numbers[best.row])
    places = np.sort(pool.place[number, table.deciding[:MOST_UNITS]])
    last = int(places[best.rank]) if best.rank < len(places) else pool.size
    length = int(rng.integers(int(places[best.rank - 1]) + 1, last + 1))
    return pool.prefix(number, length), AdaptiveReason.PATTERN


def _most_doubted(
    table: TaskTable, pool: OrderPool, numbers: Integers, effect: Floats, rng: np.random.Generator
) -> Mask | None:
    """The prefix of these orders where what units do on other tasks speaks most against the forecast; None if nothing.

    Where a gain and a harm cancel, both anchors have the same score. A coalition with the units that gain elsewhere and
    without those that harm shows it, and a prefix drawn at random hardly does.
    """
    others = effect.copy()
    others[table.deciding] = 0.0
    if not others.any():
        return None
    sums = np.cumsum(others[pool.orders[numbers]], axis=1)
    doubt: Floats = np.full((len(numbers), pool.size), -np.inf)
    deciding = table.deciding[:MOST_UNITS]
    places = pool.place[numbers][:, deciding]
    for row, ranks in enumerate(np.argsort(places, axis=1).tolist()):
        pattern, start = 0, 0
        for rank in [*ranks, None]:
            end = pool.size if rank is None else int(places[row, rank])
            forecast = table.score_of(pattern)
            if forecast is not None:
                towards = 1.0 if forecast[0] < MIDDLE or (forecast[0] == MIDDLE and rng.random() < MIDDLE) else -1.0
                doubt[row, start:end] = towards * sums[row, start:end]
            if rank is not None:
                pattern, start = pattern | 1 << deciding[rank], end
    if not deciding:
        doubt -= max(0.0, float(doubt[0, -1]))  # the anchors have shown that all others together change nothing
    inner: Floats = doubt[:, :-1]
    for place in np.argsort(-inner, axis=None)[:DOUBTS_COMPARED].tolist():
        row, length = divmod(place, pool.size - 1)
        if inner[row, length] <= 0.0:
            return None
        mask = pool.prefix(int(numbers[row]), length + 1)
        if mask not in table.scores:
            return mask
    return None


def _choose_forecast(
    table: TaskTable, pool: OrderPool, numbers: Integers, rng: np.random.Generator, elsewhere: Floats
) -> Mask:
    """A coalition with a predicted score, just before or after a unit enters: those two scores are its marginal.

    A share `AT_CHANGES` lies where the score is predicted to change; there a second unit that is needed as well, or
    that suffices as well, shows. The others lie next to a unit drawn by weight.
    """
    if rng.random() < AT_CHANGES:
        for number in numbers.tolist():
            changes = _predicted_changes(table, pool, number)
            if changes:
                mask = pool.prefix(number, changes[int(rng.integers(len(changes)))] + int(rng.integers(2)))
                if mask not in table.scores:
                    return mask
    unit, number = int(rng.choice(pool.size, p=_unit_chances(table, elsewhere))), int(numbers[0])
    return pool.prefix(number, int(pool.place[number, unit]) + int(rng.integers(2)))


def _predicted_changes(table: TaskTable, pool: OrderPool, number: int) -> list[int]:
    """Places of one order at which a deciding unit enters and the known score changes."""
    changes, pattern, before = [], 0, table.score_of(0)
    places = pool.place[number]
    for unit in sorted(table.deciding, key=places.__getitem__):
        pattern |= 1 << unit
        after = table.score_of(pattern)
        if before is not None and after is not None and after != before:
            changes.append(int(places[unit]))
        before = after
    return changes


def _unit_chances(table: TaskTable, elsewhere: Floats) -> Floats:
    """The probability of verifying next to each unit: it decides this task, it decides others, or it is any unit."""
    chance: Floats = ANY_UNIT / len(elsewhere) + elsewhere / max(elsewhere.sum(), 1.0)
    if table.deciding:
        chance[table.deciding] += DECIDES_HERE / len(table.deciding)
    chance /= chance.sum()
    return chance


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnknownPattern:
    """Where an unknown pattern occurs: the row of its order, and its rank (the number of deciding units it holds).

    `informative`: on some order it lies between two known patterns of different scores.
    """

    row: int
    rank: int
    informative: bool


def _unknown_pattern(table: TaskTable, pool: OrderPool, numbers: Integers) -> _UnknownPattern | None:
    """The unknown pattern with the largest weight along these orders; None if all are known."""
    units = table.deciding[:MOST_UNITS]
    ranked = np.argsort(pool.place[numbers][:, units], axis=1).tolist()
    weight: dict[Mask, float] = {}
    where: dict[Mask, tuple[int, int]] = {}
    informative: set[Mask] = set()
    for row, ranks in enumerate(ranked):
        pattern, before, unknown = 0, table.score_of(0), []
        for rank, place in enumerate(ranks, start=1):
            pattern |= 1 << units[place]
            after = table.score_of(pattern)
            if after is None:
                unknown.append(pattern)
                where.setdefault(pattern, (row, rank))
                continue
            for between in unknown:
                weight[between] = weight.get(between, 0.0) + (1.0 if after != before else EQUAL_ENDS)
            if after != before:
                informative.update(unknown)
            before, unknown = after, []
    if not weight:
        return None
    best = max(weight, key=lambda pattern: (weight[pattern], -pattern))
    return _UnknownPattern(row=where[best][0], rank=where[best][1], informative=best in informative)
