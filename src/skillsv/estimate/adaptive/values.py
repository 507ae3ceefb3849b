"""Values of all units under one operator, with random draws that carry their uncertainty.

`noisy_values` serves an agent that does not repeat its answers; `steady_values.py` one that does. The draws of
different units belong together, so the draws of a sum are the sums of the draws. The constants were chosen by coverage
on planted games (docs/estimation.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers, ScoredCoalitions
from skillsv.estimate.adaptive.surrogate import COIN_LIKE, OrderPrefixes, fit_surrogate, predicted_lifts

DRAWS = 60
"""Draws around the values: enough for a standard error within a tenth."""

SURROGATE_ORDERS = 100
"""Orders used for a noisy agent: every draw predicts every prefix of them, so they set the computing time."""

LEAST_SAMPLES = 5
"""Noisy agent: rollouts with a unit, and rollouts without it, that the unit needs to have a value."""

NARROWEST = 0.72
"""Noisy agent: factor on the spread of the fit with very many rollouts per task."""

EXTRA_ROLLOUTS = 8.0
"""Noisy agent: this number divided by the rollouts per task is added to the factor; few rollouts overfit."""

WIDEST = 2.0
"""Noisy agent: largest factor that few rollouts give."""

FAINT_NOISE = 0.4
"""Noisy agent: factor where the agent has almost no noise; the fit allows for more than is there."""

BY_NOISE = 7.5
"""Noisy agent: increase of `FAINT_NOISE` per unit of score variance, up to a factor of 1."""

BY_COINS = 2.5
"""Noisy agent: increase of the factor per unit of score variance above `COIN_LIKE`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueDraws:
    """phi of every unit, and draws around it whose standard deviation is its standard error.

    `task_variance` is the variance of each unit's value on each task [tasks, units]: more rollouts help where it is
    large. `task_sums` is the sum of all units' values on each task, computed from scores without the values.
    `separated` are the units whose effect some rollout has told apart from that of other units.
    """

    values: Floats
    draws: Floats
    task_variance: Floats
    task_sums: Floats
    separated: Bools

    @property
    def standard_error(self) -> Floats:
        """The standard deviation of the draws, per unit."""
        error: Floats = self.draws.std(axis=0)
        return error

    def minus(self, other: ValueDraws) -> ValueDraws:
        """The difference of two operators."""
        return ValueDraws(
            values=self.values - other.values,
            draws=self.draws - other.draws,
            task_variance=self.task_variance,
            task_sums=self.task_sums - other.task_sums,
            separated=self.separated & other.separated,
        )


def count_samples(scored: ScoredCoalitions) -> Numbers:
    """For each unit the number of rollouts with it or without it, whichever is smaller; anchors do not count."""
    between_anchors = scored.present.any(axis=1) & ~scored.present.all(axis=1)
    with_unit = scored.present[between_anchors].sum(axis=0)
    counts: Numbers = np.minimum(with_unit, int(between_anchors.sum()) - with_unit)
    return counts


def noisy_values(scored: ScoredCoalitions, tasks: int, place: Numbers, rng: np.random.Generator) -> ValueDraws:
    """Estimate phi (Eq. 2) for a noisy agent, from the fitted model of its scores."""
    fit = fit_surrogate(scored, tasks)
    prefixes = OrderPrefixes(place[:SURROGATE_ORDERS])
    values = prefixes.effects(fit.weights)
    draws = np.array([prefixes.effects(weights) for weights in fit.draw_weights(DRAWS, rng)])
    draws = values + _spread_factor(len(scored.score) / tasks, fit.noise) * (draws - draws.mean(axis=0))
    slope = _slopes(scored, tasks)
    variance = np.einsum("tii->ti", fit.block)[:, 1:]
    samples = count_samples(scored)
    return ValueDraws(
        values=values,
        draws=draws,
        task_variance=slope[:, None] ** 2 * variance,
        task_sums=predicted_lifts(fit.weights),
        separated=(samples >= LEAST_SAMPLES) | (len(samples) == 1),
    )


def _slopes(scored: ScoredCoalitions, tasks: int) -> Floats:
    """The change of a task's expected score per logit: largest where half of the rollouts pass."""
    count = np.bincount(scored.task, minlength=tasks) + 2.0
    rate = (np.bincount(scored.task, weights=scored.score, minlength=tasks) + 1.0) / count
    slope: Floats = rate * (1.0 - rate)
    return slope


def _spread_factor(rollouts: float, noise: float) -> float:
    """The factor on the spread of the fit, for this number of rollouts per task and this variance of a score."""
    by_noise = min(FAINT_NOISE + BY_NOISE * noise, 1.0) + BY_COINS * max(noise - COIN_LIKE, 0.0)
    return min(NARROWEST + EXTRA_ROLLOUTS / rollouts, WIDEST) * by_noise
