"""Values under a deterministic agent: the score of each task as a function of the units that decide it.

The deciding units of a task come from its scored coalitions (`model.task_table`). With the score of every set of
deciding units (a *pattern*), orders cost no rollouts: the marginal of a unit along any order of mu is the difference of
two patterns' scores. A pattern that was never scored gets the prediction of a small logistic regression. Two figures
bound the error of the values: the share of predicted patterns along the orders, and the number of scores since the last
deciding unit was found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers, ScoredCoalitions
from skillsv.model.task_table import Mask, TaskTable

MOST_DECIDING = 14
"""Deciding units per task that are used, the first ones found: 2^14 patterns still fit in memory for each task."""

RIDGE = 0.3
"""Ridge penalty on a unit's weight in the logistic regression: few scores must not give large weights."""

INTERCEPT_RIDGE = 0.05
"""Ridge penalty on the intercept: only large enough to keep the regression solvable."""

NEWTON_STEPS = 8
"""Newton steps of the logistic regression: a fixed number, enough for at most 15 weights."""

LEAST_CURVATURE = 1e-4
"""Smallest variance p(1 - p) of a predicted score, so that Newton's step stays bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternScores:
    """The score of every pattern of one task's deciding units.

    `deciding` holds the columns of the deciding units; bit k of a pattern stands for `deciding[k]`. `scores` has an
    entry for each pattern; `known` says which of them were measured, with one score throughout. `agreeing` counts the
    scores after the one that showed the last deciding unit. `changing` says whether any two scores differ; `suspects`
    are the units that may be the cause of a change that the deciding units do not explain; `compared` those that were
    seen to make no difference.
    """

    deciding: tuple[int, ...]
    scores: Floats
    known: Bools
    agreeing: int
    changing: bool
    suspects: Mask
    compared: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternEffects:
    """phi (Eq. 2) per task and unit over the given orders, with what bounds the error.

    `lifts` is the score of all deciding units minus that of none, per task: what the values of a task must add up to.
    `predicted` is the share of patterns along the orders that were not measured; `spread` is the standard error of the
    mean over orders, per unit. `changing` are the tasks with different scores; `suspected` are the units that may be
    the cause of a change on a task that is not traced to a unit yet, `compared` those that made no difference there.
    """

    values: Floats
    lifts: Floats
    deciding: Bools
    predicted: Floats
    agreeing: Numbers
    spread: Floats
    changing: Bools
    suspected: Bools
    compared: Bools


def pattern_effects(scored: ScoredCoalitions, tasks: int, place: Numbers) -> PatternEffects:
    """Average the marginals of every unit on every task over orders, given as positions `place` [orders, units]."""
    units = scored.present.shape[1]
    values, deciding = np.zeros((tasks, units)), np.zeros((tasks, units), dtype=np.bool_)
    lifts, predicted, agreeing = np.zeros(tasks), np.zeros(tasks), np.zeros(tasks, dtype=np.int64)
    changing = np.zeros(tasks, dtype=np.bool_)
    suspected, compared = np.zeros((2, tasks, units), dtype=np.bool_)
    totals = np.zeros((len(place), units))
    for task in range(tasks):
        rows = scored.task == task
        patterns = score_patterns(scored.present[rows], scored.score[rows])
        agreeing[task], changing[task] = patterns.agreeing, patterns.changing
        suspected[task], compared[task] = _columns(patterns.suspects, units), _columns(patterns.compared, units)
        columns = list(patterns.deciding)
        deciding[task, columns] = True
        lifts[task] = patterns.scores[-1] - patterns.scores[0]
        marginals, predicted[task] = _marginals(patterns, place)
        values[task, columns] = marginals.mean(axis=0)
        totals[:, columns] += marginals
    spread = totals.std(axis=0) / np.sqrt(len(place)) / max(tasks, 1)
    return PatternEffects(
        values=values,
        lifts=lifts,
        deciding=deciding,
        predicted=predicted,
        agreeing=agreeing,
        spread=spread,
        changing=changing,
        suspected=suspected,
        compared=compared,
    )


def _columns(mask: Mask, units: int) -> Bools:
    """A bit mask as a row of units."""
    packed = np.frombuffer(mask.to_bytes(-(-units // 8) or 1, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=units, bitorder="little").astype(np.bool_)


def score_patterns(present: Bools, score: Floats) -> PatternScores:
    """Compute the pattern scores of one task from its scored coalitions, in the order in which they were asked."""
    table = _task_table(present, score)
    shown = table.find_deciding(present.shape[1])
    deciding = tuple(sorted(sorted(shown, key=shown.__getitem__)[:MOST_DECIDING]))
    table.add_deciding(deciding)
    scores, known = _complete_scores(table, deciding)
    last = max(shown.values(), default=0)
    return PatternScores(
        deciding=deciding,
        scores=scores,
        known=known,
        agreeing=max(len(table.scores) - 1 - last, 0),
        changing=len(set(table.scores.values())) > 1,
        suspects=table.suspects(),
        compared=table.compared((1 << present.shape[1]) - 1),
    )


def coalition_masks(present: Bools) -> list[Mask]:
    """Rows of units as bit masks."""
    packed = np.packbits(present, axis=1, bitorder="little")
    return [int.from_bytes(bits.tobytes(), "little") for bits in packed]


def _task_table(present: Bools, score: Floats) -> TaskTable:
    """The scores by coalition. A coalition whose score did not repeat is left out."""
    first: dict[int, float] = {}
    unstable: set[int] = set()
    for mask, value in zip(coalition_masks(present), score.tolist(), strict=True):
        if first.setdefault(mask, value) != value:
            unstable.add(mask)
    table = TaskTable()
    for mask, value in first.items():
        if mask not in unstable:
            table.add(mask, (value,))
    return table


def _complete_scores(table: TaskTable, deciding: tuple[int, ...]) -> tuple[Floats, Bools]:
    """The score of every pattern, and whether it is known.

    A pattern's score is the mean over its coalitions, or the prediction of the regression where none was scored. It is
    known where all its coalitions have the same score.
    """
    size = 1 << len(deciding)
    means, measured, known = np.zeros(size), np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    for units, scores in table.scores_by_pattern().items():
        pattern = sum(1 << bit for bit, unit in enumerate(deciding) if units >> unit & 1)
        total = 0.0
        for (score,) in scores:
            total += score
        means[pattern], measured[pattern] = total / len(scores), True
        known[pattern] = all(score == scores[0] for score in scores)
    signs = ((np.arange(size)[:, None] >> np.arange(len(deciding))) & 1) * 2.0 - 1.0
    design = np.hstack([np.ones((size, 1)), signs])
    predictions = 1.0 / (1.0 + np.exp(-design @ _fit_logistic(design[measured], means[measured])))
    return np.where(measured, means, predictions), known


def _fit_logistic(design: Floats, score: Floats) -> Floats:
    """Weights of a ridge logistic regression by Newton's method; a few rows and columns."""
    weights = np.zeros(design.shape[1])
    ridge = np.diag([INTERCEPT_RIDGE, *[RIDGE] * (design.shape[1] - 1)])
    for _ in range(NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-design @ weights))
        curvature = np.maximum(chance * (1.0 - chance), LEAST_CURVATURE)
        hessian = (design.T * curvature) @ design + ridge
        weights += np.linalg.solve(hessian, design.T @ (score - chance) - ridge @ weights)
    return weights


def _marginals(task: PatternScores, place: Numbers) -> tuple[Floats, float]:
    """The marginal of each deciding unit along each order, and the share of patterns there that are not known."""
    ranks = np.argsort(place[:, list(task.deciding)], axis=1)
    patterns = np.cumsum(1 << ranks, axis=1)
    start = np.zeros((len(place), 1), dtype=np.int64)
    patterns = np.concatenate([start, patterns], axis=1)
    steps = np.diff(task.scores[patterns], axis=1)
    marginals = np.empty_like(steps)
    np.put_along_axis(marginals, ranks, steps, axis=1)
    return marginals, float(1.0 - task.known[patterns].mean())
