"""Values of all units for an agent that repeats its answers, from the scores of patterns.

The constants were chosen by coverage on planted games (docs/estimation.md).
"""

from __future__ import annotations

import numpy as np

from skillsv.estimate.adaptive.earlier_comparison import EarlierComparison
from skillsv.estimate.adaptive.forecasts import Stretch, replay_forecasts
from skillsv.estimate.adaptive.hidden import estimate_hidden
from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers, ScoredCoalitions
from skillsv.estimate.adaptive.patterns import PatternEffects, coalition_masks, pattern_effects
from skillsv.estimate.adaptive.values import DRAWS, ValueDraws

WIDER = 1.1
"""Factor on the standard error; errors are rare and large, so a normal interval is too narrow."""

POOLED_WIDER = 1.6
"""Further factor on errors of what is pooled over tasks: they come from few findings, whose sizes differ much."""

COMMON = 0.1
"""Share of the tasks' errors that all tasks have in common: hidden units are missing on many tasks at once."""

MOST_LISTED = 10
"""Units up to which all prefixes of the orders are listed: at most 1,024 coalitions."""

MOST_UNTRACED = 0.25
"""Share of the changing tasks on which a unit that decides no task may still be the cause."""


def steady_values(
    scored: ScoredCoalitions,
    tasks: int,
    place: Numbers,
    rng: np.random.Generator,
    compared: EarlierComparison | None = None,
) -> ValueDraws:
    """Estimate phi (Eq. 2) for an agent that repeats its answers: from scores of patterns, and what they leave out.

    `compared` says where earlier agents' scores hold for this one.
    """
    effects = pattern_effects(scored, tasks, place)
    lifts = _measured_lifts(scored, tasks)
    hidden = estimate_hidden(effects, lifts, _replay(scored, tasks), _exhausted(scored, tasks, place), compared)
    task_values = effects.values + hidden.unexplained + hidden.cancelled
    values = task_values.mean(axis=0)
    common = (COMMON * np.sqrt(hidden.variance).sum(axis=0) / tasks) ** 2
    independent = hidden.variance.sum(axis=0) / tasks**2
    error = np.sqrt(WIDER**2 * (independent + common + POOLED_WIDER**2 * hidden.shared) + effects.spread**2)
    return ValueDraws(
        values=values,
        draws=values + _standard_normal((DRAWS, len(values)), rng) * error,
        task_values=task_values,
        task_variance=hidden.variance,
        task_sums=effects.lifts + hidden.unexplained.sum(axis=1),
        separated=_separated(effects),
    )


def _exhausted(scored: ScoredCoalitions, tasks: int, place: Numbers) -> Bools:
    """The tasks on which every prefix of the orders was scored; none where there are more units than can be listed."""
    units = place.shape[1]
    if units > MOST_LISTED:
        return np.zeros(tasks, dtype=np.bool_)
    bits = np.int64(1) << np.argsort(place, axis=1)
    prefixes = {0, *np.unique(np.cumsum(bits, axis=1)).tolist()}
    scored_on: list[set[int]] = [set() for _ in range(tasks)]
    for task, mask in zip(scored.task.tolist(), coalition_masks(scored.present), strict=True):
        scored_on[task].add(mask)
    return np.array([prefixes <= masks for masks in scored_on], dtype=np.bool_)


def _measured_lifts(scored: ScoredCoalitions, tasks: int) -> Floats:
    """The score of the full skill minus that of {m} on each task; NaN where one is missing."""
    lifts = np.full((2, tasks), np.nan)
    for side, rows in enumerate((~scored.present.any(axis=1), scored.present.all(axis=1))):
        for task, score in zip(scored.task[rows].tolist(), scored.score[rows].tolist(), strict=True):
            if np.isnan(lifts[side, task]):
                lifts[side, task] = score
    difference: Floats = lifts[1] - lifts[0]
    return difference


def _replay(scored: ScoredCoalitions, tasks: int) -> list[list[Stretch]]:
    """The forecasts of every task in the order in which they were made."""
    full = (1 << scored.present.shape[1]) - 1
    masks = coalition_masks(scored.present)
    probes = np.zeros(len(masks), dtype=np.bool_) if scored.probe is None else scored.probe
    rows_of: list[list[int]] = [[] for _ in range(tasks)]
    for row, task in enumerate(scored.task.tolist()):
        rows_of[task].append(row)
    scores = scored.score.tolist()
    return [
        replay_forecasts([masks[row] for row in rows], [scores[row] for row in rows], probes[rows], full)
        for rows in rows_of
    ]


def _separated(effects: PatternEffects) -> Bools:
    """Units that decide a task, or that made no difference and are ruled out on most tasks whose score changes.

    With a single unit the anchors differ in nothing else.
    """
    units = effects.compared.shape[1]
    ruled_out = effects.suspected.sum(axis=0) <= MOST_UNTRACED * int(effects.changing.sum())
    compared = effects.compared.any(axis=0) | (units == 1)
    separated: Bools = effects.deciding.any(axis=0) | (compared & ruled_out)
    return separated


def _standard_normal(shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Normal draws whose columns have mean 0 and variance 1 exactly, so that a unit's interval ignores the seed."""
    normal = rng.standard_normal(shape)
    normal -= normal.mean(axis=0)
    scaled: Floats = normal / normal.std(axis=0)
    return scaled
