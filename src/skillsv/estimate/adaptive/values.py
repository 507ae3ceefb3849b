"""Values of all units under one operator, with random draws that carry their uncertainty.

`noisy_values` serves an agent that does not repeat its answers; `steady_values.py` one that does. The draws of
different units belong together, so the draws of a sum are the sums of the draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers, ScoredCoalitions
from skillsv.estimate.adaptive.regression import unexplained_variance
from skillsv.estimate.adaptive.surrogate import OrderPrefixes, predicted_lifts
from skillsv.estimate.adaptive.weight_sampler import mean_scores, sample_curves

DRAWS = 60
"""Draws around the values: enough for a standard error within a tenth."""

SURROGATE_ORDERS = 60
"""Orders used for a noisy agent: every draw predicts every prefix of them, so they set the computing time."""

TASK_DRAWS = 4
"""Every so many draws is used for the values on single tasks, which take more time."""

SMALLEST_ERROR = 1e-12
"""Standard error below which a value counts as exact; it keeps the division finite."""

SMALLEST_VARIANCE = 1e-12
"""Variance of a value that counts as zero; it keeps the division finite."""

MODEL_VARIANCE = 1.5
"""Factor on the variance of the model's draws: the model is too sure of itself where units do not add up."""

UNEXPLAINED_SHARE = 0.5
"""Share of what a regression leaves open that counts as error of the model; both by coverage on `TUNING_SEEDS`."""

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

    def scaled(self, error: Floats) -> Floats:
        """The draws, stretched around the values so that their standard deviations are these errors."""
        wider = error / np.maximum(self.standard_error, SMALLEST_ERROR)
        draws: Floats = self.values + wider * (self.draws - self.values)
        return draws

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
    rows_alike = np.linspace(0, len(noisy.draws) - 1, len(steady.draws)).astype(np.int64)

    def by_task(one: Floats, other: Floats) -> Floats:
        rows = np.empty((len(noisy_tasks), *one.shape[1:]))
        rows[~noisy_tasks], rows[noisy_tasks] = one, other
        return rows

    return ValueDraws(
        values=(1.0 - share) * steady.values + share * noisy.values,
        draws=(1.0 - share) * steady.draws + share * noisy.draws[rows_alike],
        task_values=by_task(steady.task_values, noisy.task_values),
        task_variance=by_task(steady.task_variance, noisy.task_variance),
        task_sums=by_task(steady.task_sums, noisy.task_sums),
        separated=steady.separated,
    )


def count_samples(scored: ScoredCoalitions, place: Numbers) -> Numbers:
    """For each unit the number of rollouts with it or without it, whichever is smaller.

    Anchors count only for a unit that every order puts first or last: {m} is the only coalition without the first one,
    and the full skill the only one with the last.
    """
    empty, full = ~scored.present.any(axis=1), scored.present.all(axis=1)
    between = scored.present[~empty & ~full]
    with_unit = between.sum(axis=0)
    without = len(between) - with_unit
    first, last = (place == 0).all(axis=0), (place == place.shape[1] - 1).all(axis=0)
    counts: Numbers = np.minimum(with_unit + last * int(full.sum()), without + first * int(empty.sum()))
    return counts


def noisy_values(
    scored: ScoredCoalitions, tasks: int, place: Numbers, rng: np.random.Generator, prior: Floats | None = None
) -> ValueDraws:
    """Estimate phi (Eq. 2) for a noisy agent, from draws of the curves that its scores leave possible.

    The squared error is that of the model, somewhat widened, plus a share of what a regression without this model
    leaves open, which comes from the residuals of the run. `prior` holds the units' values for other agents, a row
    each; the scores decide how far the values follow them.
    """
    curves = sample_curves(scored, tasks, rng, prior)
    drawn = list(zip(curves.weights, curves.span, strict=True))
    prefixes = OrderPrefixes(place[:SURROGATE_ORDERS])
    draws = np.array([prefixes.effects(weights, span) for weights, span in drawn])
    by_task = np.array([prefixes.task_effects(weights, span) for weights, span in drawn[::TASK_DRAWS]])
    by_model = np.maximum(draws.var(axis=0), SMALLEST_VARIANCE)
    unexplained = UNEXPLAINED_SHARE * unexplained_variance(scored, tasks, mean_scores(curves, scored), by_model, prior)
    values, samples = draws.mean(axis=0), count_samples(scored, place)
    return ValueDraws(
        values=values,
        draws=values + np.sqrt(MODEL_VARIANCE) * (draws - values) + _errors_that_cancel(unexplained, len(draws), rng),
        # the mean over tasks comes from all draws, how tasks differ from some of them
        task_values=by_task.mean(axis=0) - by_task.mean(axis=(0, 1)) + values,
        task_variance=by_task.var(axis=0),
        task_sums=np.mean([span * predicted_lifts(weights) for weights, span in drawn], axis=0),
        separated=(samples >= LEAST_SAMPLES) | (len(samples) == 1),
    )


def _errors_that_cancel(variance: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Draws of errors with these variances [count, units] with the sum zero: the anchors give the sum of all units."""
    errors = rng.standard_normal((count, len(variance))) * np.sqrt(variance)
    shares = variance / max(float(variance.sum()), SMALLEST_VARIANCE)
    balanced: Floats = errors - errors.sum(axis=1, keepdims=True) * shares
    return balanced
