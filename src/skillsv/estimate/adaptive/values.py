"""The two estimators: values of one operator with draws that carry their uncertainty, unit by unit and together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.observations import Floats, Numbers, Scored
from skillsv.estimate.adaptive.patterns import Effects, pattern_effects
from skillsv.estimate.adaptive.surrogate import COIN_LIKE, OrderLadder, fit_surrogate

DRAWS = 60
SURROGATE_ORDERS = 100

HIDDEN, HALVED_AFTER, QUIET = 0.2, 5.0, 0.3
"""Steady agents: the expected squared error of one task's values right after a surprise; how many agreeing scores it
takes to halve it; how much smaller it is on a task that no unit is known to decide. Chosen on planted games."""

WIDER = 1.3
"""Errors of a steady agent's values are rare and large: intervals need more than a normal's width. Chosen likewise."""


NARROWEST, EXTRA_ROLLOUTS, WIDEST = 0.72, 8.0, 2.0
FAINT_NOISE, BY_NOISE, BY_COINS = 0.4, 7.5, 2.5
"""Noisy agents: what the fit's own spread is multiplied by. Chosen likewise: with few rollouts a task, or with scores
that are nearly coins, the fit is surer than it should be; with little noise it allows for more than is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """phi of every unit, and draws around it whose spread is its standard error (calibrated, see docs/estimation.md).

    `doubt` says task by task and unit by unit how uncertain the value there is, as a variance: where to look next.
    """

    values: Floats
    draws: Floats
    doubt: Floats

    @property
    def standard_error(self) -> Floats:
        """The spread of the draws, unit by unit."""
        error: Floats = self.draws.std(axis=0)
        return error

    def minus(self, other: Drawn) -> Drawn:
        """The difference of two operators."""
        return Drawn(values=self.values - other.values, draws=self.draws - other.draws, doubt=self.doubt)


def steady_values(scored: Scored, tasks: int, place: Numbers, rng: np.random.Generator) -> Drawn:
    """Values under an agent that repeats itself, from tables of patterns."""
    effects = pattern_effects(scored, tasks, place)
    values = effects.values.mean(axis=0)
    doubt = _hidden(effects)
    error = np.sqrt(WIDER**2 * doubt.sum(axis=0) / tasks**2 + effects.spread**2)
    return Drawn(
        values=values,
        draws=values + _standard_normal((DRAWS, len(values)), rng) * error,
        doubt=doubt,
    )


def _standard_normal(shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Normal draws whose columns have mean zero and variance one exactly, so that luck does not widen an interval."""
    luck = rng.standard_normal(shape)
    luck -= luck.mean(axis=0)
    scaled: Floats = luck / luck.std(axis=0)
    return scaled


def _hidden(effects: Effects) -> Floats:
    """The expected squared error of each unit's value on each task [tasks, units].

    Units still hidden, and patterns filled in. Half of an error falls on the units that decide the task, the other
    half on the rest, most often on units that decide other tasks.
    """
    deciding = effects.deciding.astype(np.float64)
    count = deciding.sum(axis=1)
    surprise = np.where(count > 0, 1.0, QUIET) * HIDDEN / (1.0 + (effects.clean / HALVED_AFTER) ** 2)
    elsewhere = deciding.sum(axis=0) + 1.0
    share = deciding / np.maximum(count, 1.0)[:, None] + elsewhere / elsewhere.sum()
    doubt: Floats = (surprise + effects.unknown**2)[:, None] * share / 2.0
    return doubt


def noisy_values(scored: Scored, tasks: int, place: Numbers, rng: np.random.Generator) -> Drawn:
    """Values under a noisy agent, from the surrogate."""
    fit = fit_surrogate(scored, tasks)
    ladder = OrderLadder(place[:SURROGATE_ORDERS])
    values = ladder.effects(fit.weights)
    draws = np.array([ladder.effects(weights) for weights in fit.draws(DRAWS, rng)])
    draws = values + _widening(len(scored.score) / tasks, fit.noise) * (draws - draws.mean(axis=0))
    slope = _slopes(scored, tasks)
    spread = np.einsum("tii->ti", fit.block)[:, 1:]
    return Drawn(values=values, draws=draws, doubt=slope[:, None] ** 2 * spread)


def _slopes(scored: Scored, tasks: int) -> Floats:
    """How much a task's score moves with its logit: most where it is solved half the time."""
    count = np.bincount(scored.task, minlength=tasks) + 2.0
    rate = (np.bincount(scored.task, weights=scored.score, minlength=tasks) + 1.0) / count
    slope: Floats = rate * (1.0 - rate)
    return slope


def _widening(rollouts: float, noise: float) -> float:
    """The factor on the fit's spread for so many rollouts a task and this variance of a score around its chance."""
    by_noise = min(FAINT_NOISE + BY_NOISE * noise, 1.0) + BY_COINS * max(noise - COIN_LIKE, 0.0)
    return min(NARROWEST + EXTRA_ROLLOUTS / rollouts, WIDEST) * by_noise
