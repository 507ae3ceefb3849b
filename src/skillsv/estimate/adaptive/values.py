"""The two estimators: values of one operator with draws that carry their uncertainty, unit by unit and together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.curve import OrderLadder
from skillsv.estimate.adaptive.observed import Floats, Numbers, Scored
from skillsv.estimate.adaptive.patterns import Effects, pattern_effects
from skillsv.estimate.adaptive.surrogate import fit_surrogate

DRAWS = 60
SURROGATE_ORDERS = 100

HIDDEN, OWN, ANYWHERE = 1.0, 1.0, 1.0
"""Deterministic branch: what an unexplained task may hide, on units that decide it, and on all others (calibrated)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """phi of every unit, and draws around it whose spread is its standard error (calibrated, see docs/estimation.md).

    `tasks` says task by task how uncertain its share is: where more rollouts would help.
    """

    values: Floats
    draws: Floats
    tasks: Floats

    @property
    def standard_error(self) -> Floats:
        """The spread of the draws, unit by unit."""
        error: Floats = self.draws.std(axis=0)
        return error

    def minus(self, other: Drawn) -> Drawn:
        """The difference of two operators."""
        return Drawn(values=self.values - other.values, draws=self.draws - other.draws, tasks=self.tasks)


def steady_values(scored: Scored, tasks: int, place: Numbers, rng: np.random.Generator) -> Drawn:
    """Values under an agent that repeats itself, from tables of patterns."""
    effects = pattern_effects(scored, tasks, place)
    values = effects.values.mean(axis=0)
    doubt = _hidden(effects)
    error = np.sqrt((doubt**2).sum(axis=0) / tasks**2 + effects.spread**2)
    return Drawn(
        values=values,
        draws=values + rng.standard_normal((DRAWS, len(values))) * error,
        tasks=np.sqrt((doubt**2).sum(axis=1)),
    )


def _hidden(effects: Effects) -> Floats:
    """How far phi of each unit on each task may be off [tasks, units].

    Patterns filled in, and units still hidden, which c agreeing scores in a row leave a chance of about 1/(c + 2).
    """
    open_share = effects.unknown / 2 + HIDDEN / (effects.clean + 2.0)
    often = effects.deciding.mean(axis=0) + 0.5 / effects.deciding.size
    scale = np.sqrt(OWN * effects.deciding + ANYWHERE * often)
    doubt: Floats = open_share[:, None] * scale
    return doubt


def noisy_values(scored: Scored, tasks: int, place: Numbers, rng: np.random.Generator) -> Drawn:
    """Values under a noisy agent, from the surrogate."""
    fit = fit_surrogate(scored, tasks)
    ladder = OrderLadder(place[:SURROGATE_ORDERS])
    values = ladder.effects(fit.weights)
    draws = np.array([ladder.effects(weights) for weights in fit.draws(DRAWS, rng)])
    draws += values - draws.mean(axis=0)
    rate = np.bincount(scored.task, weights=scored.score, minlength=tasks) + 1.0
    count = np.bincount(scored.task, minlength=tasks) + 2.0
    rate /= count
    return Drawn(values=values, draws=draws, tasks=np.sqrt(rate * (1.0 - rate) / count))
