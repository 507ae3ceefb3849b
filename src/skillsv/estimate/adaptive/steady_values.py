"""Values of all units for an agent that repeats its answers, from the scores of patterns.

The constants were chosen by coverage on planted games (docs/estimation.md).
"""

from __future__ import annotations

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers, ScoredCoalitions
from skillsv.estimate.adaptive.patterns import PatternEffects, pattern_effects
from skillsv.estimate.adaptive.values import DRAWS, ValueDraws

HIDDEN_ERROR = 0.2
"""Expected squared error of one task's values right after a deciding unit was found."""

HALVED_AFTER = 5.0
"""Scores in agreement since the last deciding unit that halve `HIDDEN_ERROR`."""

NO_DECIDING_UNIT = 0.3
"""Factor on `HIDDEN_ERROR` for a task without a known deciding unit."""

WIDER = 1.3
"""Factor on the standard error; errors are rare and large, so a normal interval is too narrow."""

MOST_UNTRACED = 0.25
"""Share of the changing tasks on which a unit that decides no task may still be the cause."""


def steady_values(scored: ScoredCoalitions, tasks: int, place: Numbers, rng: np.random.Generator) -> ValueDraws:
    """Estimate phi (Eq. 2) for an agent that repeats its answers, from the scores of patterns."""
    effects = pattern_effects(scored, tasks, place)
    values = effects.values.mean(axis=0)
    variance = _hidden_variance(effects)
    error = np.sqrt(WIDER**2 * variance.sum(axis=0) / tasks**2 + effects.spread**2)
    return ValueDraws(
        values=values,
        draws=values + _standard_normal((DRAWS, len(values)), rng) * error,
        task_values=effects.values,
        task_variance=variance,
        task_sums=effects.lifts,
        separated=_separated(effects),
    )


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


def _hidden_variance(effects: PatternEffects) -> Floats:
    """The expected squared error of each unit's value on each task [tasks, units].

    It comes from deciding units that are not known yet and from predicted patterns. Half of an error falls on the known
    deciding units of the task; the other half on all units, most on those that decide other tasks.
    """
    deciding = effects.deciding.astype(np.float64)
    count = deciding.sum(axis=1)
    hidden = np.where(count > 0, 1.0, NO_DECIDING_UNIT) * HIDDEN_ERROR
    hidden = hidden / (1.0 + (effects.agreeing / HALVED_AFTER) ** 2)
    elsewhere = deciding.sum(axis=0) + 1.0
    share = deciding / np.maximum(count, 1.0)[:, None] + elsewhere / elsewhere.sum()
    variance: Floats = (hidden + effects.predicted**2)[:, None] * share / 2.0
    return variance
