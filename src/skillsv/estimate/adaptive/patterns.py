"""Values under a deterministic agent: each task's score as a table over the units that were seen to decide it.

With the table, orders cost nothing: the marginal of a unit along any order of mu is a difference of two entries. An
entry that was never scored is filled in by a small logistic fit to the others; how much of mu runs over such entries,
and how few scores have agreed since the last surprise, say how far the values may be off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers, Scored

MOST_DECIDING = 14
"""Tables have two to this many entries at most; what more units decide is left to the noise of the estimate."""

RIDGE, INTERCEPT_RIDGE, NEWTON_STEPS = 0.3, 0.05, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTable:
    """One task: deciding units (columns), the score of every pattern, which patterns are known, later agreement.

    A pattern is known if it was scored and all its scores agree. `clean` counts the scores that came after the last
    deciding unit was found, all of which the table explains.
    """

    deciding: tuple[int, ...]
    scores: Floats
    known: Bools
    clean: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """phi per task and unit over the given orders, with what bounds the error.

    `unknown` is the share of patterns along the orders that were filled in; `spread` the standard error of the mean
    over orders, unit by unit.
    """

    values: Floats
    deciding: Bools
    unknown: Floats
    clean: Numbers
    spread: Floats


def pattern_effects(scored: Scored, tasks: int, place: Numbers) -> Effects:
    """Values of every unit on every task along orders given as positions `place` [orders, units]."""
    units = scored.present.shape[1]
    values, deciding = np.zeros((tasks, units)), np.zeros((tasks, units), dtype=np.bool_)
    unknown, clean = np.zeros(tasks), np.zeros(tasks, dtype=np.int64)
    totals = np.zeros((len(place), units))
    for task in range(tasks):
        rows = scored.task == task
        table = task_table(scored.present[rows], scored.score[rows])
        clean[task] = table.clean
        columns = list(table.deciding)
        deciding[task, columns] = True
        along, unknown[task] = _marginals(table, place)
        values[task, columns] = along.mean(axis=0)
        totals[:, columns] += along
    spread = totals.std(axis=0) / np.sqrt(len(place)) / max(tasks, 1)
    return Effects(values=values, deciding=deciding, unknown=unknown, clean=clean, spread=spread)


def task_table(present: Bools, score: Floats) -> TaskTable:
    """The table of one task from its scored coalitions, in the order they were asked."""
    seen = _settled(present, score)
    found = _deciding(seen, present.shape[1])
    deciding = tuple(sorted(sorted(found, key=found.__getitem__)[:MOST_DECIDING]))
    scores, known = _fill(seen, deciding)
    last = max(found.values(), default=0)
    return TaskTable(deciding=deciding, scores=scores, known=known, clean=max(len(seen) - 1 - last, 0))


def _settled(present: Bools, score: Floats) -> dict[int, float]:
    """Scores by coalition (as bits); one that did not repeat is left out."""
    seen: dict[int, float] = {}
    unsteady: set[int] = set()
    packed = np.packbits(present, axis=1, bitorder="little")
    for bits, value in zip(packed, score.tolist(), strict=True):
        mask = int.from_bytes(bits.tobytes(), "little")
        if seen.setdefault(mask, value) != value:
            unsteady.add(mask)
    return {mask: value for mask, value in seen.items() if mask not in unsteady}


def _deciding(seen: Mapping[int, float], units: int) -> dict[int, int]:
    """Units whose change alone changed the score, with the number of scores it took to find that out."""
    when = {mask: number for number, mask in enumerate(seen)}
    found: dict[int, int] = {}
    for mask, value in seen.items():
        for unit in range(units):
            other = mask | 1 << unit
            if other != mask and other in seen and seen[other] != value:
                time = max(when[mask], when[other])
                found[unit] = min(found.get(unit, time), time)
    return found


def _fill(seen: Mapping[int, float], deciding: tuple[int, ...]) -> tuple[Floats, Bools]:
    """The score of every pattern: the mean of its coalitions, or the logistic fit where none was scored."""
    size = 1 << len(deciding)
    total, count = np.zeros(size), np.zeros(size)
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    for mask, value in seen.items():
        pattern = sum(1 << place for place, unit in enumerate(deciding) if mask >> unit & 1)
        total[pattern] += value
        count[pattern] += 1
        least[pattern], most[pattern] = min(least[pattern], value), max(most[pattern], value)
    known = count > 0
    signs = ((np.arange(size)[:, None] >> np.arange(len(deciding))) & 1) * 2.0 - 1.0
    design = np.hstack([np.ones((size, 1)), signs])
    means = np.divide(total, count, out=np.zeros(size), where=known)
    filled = 1.0 / (1.0 + np.exp(-design @ _logistic(design[known], means[known])))
    return np.where(known, means, filled), known & (least == most)


def _logistic(design: Floats, score: Floats) -> Floats:
    """Ridge logistic regression by Newton's method; a handful of rows and columns."""
    weights = np.zeros(design.shape[1])
    ridge = np.diag([INTERCEPT_RIDGE, *[RIDGE] * (design.shape[1] - 1)])
    for _ in range(NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-design @ weights))
        curvature = np.maximum(chance * (1.0 - chance), 1e-4)
        hessian = (design.T * curvature) @ design + ridge
        weights += np.linalg.solve(hessian, design.T @ (score - chance) - ridge @ weights)
    return weights


def _marginals(table: TaskTable, place: Numbers) -> tuple[Floats, float]:
    """The marginal of each deciding unit along each order, and the share of patterns on the way that are filled in."""
    ranks = np.argsort(place[:, list(table.deciding)], axis=1)
    patterns = np.cumsum(1 << ranks, axis=1)
    start = np.zeros((len(place), 1), dtype=np.int64)
    patterns = np.concatenate([start, patterns], axis=1)
    steps = np.diff(table.scores[patterns], axis=1)
    along = np.empty_like(steps)
    np.put_along_axis(along, ranks, steps, axis=1)
    return along, float(1.0 - table.known[patterns].mean())
