"""Values of all units under one operator, with random draws that carry their uncertainty.

`noisy_values` serves an agent that does not repeat its answers; `steady_values.py` one that does. The draws of
different units belong together, so the draws of a sum are the sums of the draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers, ScoredCoalitions
from skillsv.estimate.adaptive.regression import unexplained_variance
from skillsv.estimate.adaptive.surrogate import OrderPrefixes, fit_surrogate, predicted_lifts

DRAWS = 60
"""Draws around the values: enough for a standard error within a tenth."""

SURROGATE_ORDERS = 100
"""Orders used for a noisy agent: every draw predicts every prefix of them, so they set the computing time."""

SMALLEST_VARIANCE = 1e-12
"""Variance of a value that counts as zero; it keeps the division finite."""

LEAST_SAMPLES = 5
"""Noisy agent: rollouts with a unit, and rollouts without it, that the unit needs to have a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueDraws:
    """phi of every unit, and draws around it whose standard deviation is its standard error.

    `task_values` is each unit's value on each task [tasks, units], and `task_variance` the variance of that: more
    rollouts help where it is large. `task_sums` is the sum of all units' values on each task, computed from scores
    without the values. `separated` are the units whose effect some rollout has told apart from that of other units.
    """

    values: Floats
    draws: Floats
    task_values: Floats
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
            task_values=self.task_values - other.task_values,
            task_variance=self.task_variance,
            task_sums=self.task_sums - other.task_sums,
            separated=self.separated & other.separated,
        )


def join_tasks(steady: ValueDraws, noisy: ValueDraws, noisy_tasks: Bools) -> ValueDraws:
    """The values on all tasks, from those on the steady tasks and those on the noisy ones."""
    share = float(noisy_tasks.mean())

    def by_task(one: Floats, other: Floats) -> Floats:
        rows = np.empty((len(noisy_tasks), *one.shape[1:]))
        rows[~noisy_tasks], rows[noisy_tasks] = one, other
        return rows

    return ValueDraws(
        values=(1.0 - share) * steady.values + share * noisy.values,
        draws=(1.0 - share) * steady.draws + share * noisy.draws,
        task_values=by_task(steady.task_values, noisy.task_values),
        task_variance=by_task(steady.task_variance, noisy.task_variance),
        task_sums=by_task(steady.task_sums, noisy.task_sums),
        separated=steady.separated,
    )


def count_samples(scored: ScoredCoalitions) -> Numbers:
    """For each unit the number of rollouts with it or without it, whichever is smaller; anchors do not count."""
    between_anchors = scored.present.any(axis=1) & ~scored.present.all(axis=1)
    with_unit = scored.present[between_anchors].sum(axis=0)
    counts: Numbers = np.minimum(with_unit, int(between_anchors.sum()) - with_unit)
    return counts


def noisy_values(
    scored: ScoredCoalitions, tasks: int, place: Numbers, rng: np.random.Generator, prior: Floats | None = None
) -> ValueDraws:
    """Estimate phi (Eq. 2) for a noisy agent, from the fitted model of its scores.

    The squared error is that of the model, by its own account, plus what a regression without this model leaves open:
    the width of an interval comes from the residuals of the run, not from games that were played before. `prior` holds
    the units' values for other agents, a row each; the scores decide how far the values follow them.
    """
    fit = fit_surrogate(scored, tasks, prior)
    prefixes = OrderPrefixes(place[:SURROGATE_ORDERS])
    task_values = prefixes.task_effects(fit.weights)
    values = task_values.mean(axis=0)
    draws = np.array([prefixes.effects(weights) for weights in fit.draw_weights(DRAWS, rng)])
    apart = draws - draws.mean(axis=0)
    by_model = np.maximum(apart.var(axis=0), SMALLEST_VARIANCE)
    unexplained = unexplained_variance(scored, tasks, fit.predict(scored), by_model, prior)
    draws = values + apart * np.sqrt(1.0 + unexplained / by_model)
    slope = _slopes(scored, tasks)
    variance = np.einsum("tii->ti", fit.block)[:, 1:]
    samples = count_samples(scored)
    return ValueDraws(
        values=values,
        draws=draws,
        task_values=task_values,
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
