"""The lowest and the highest expected score of each task of a noisy agent, whatever units are present.

An agent may fail now and then with any skill, and succeed now and then with none: it lapses, or its answer does not
depend on the skill alone. A logistic curve has no such floor and ceiling. It takes the exceptions for weak effects, so
it is too flat, and a flat curve cannot describe units that need each other or replace each other. Here

    v(S, t) = low_t + (high_t - low_t) p(S, t)

with the logistic curve p. A latent outcome of the curve stands behind each score; with the chance 1 - high_t a success
of the curve is scored as a failure, and with the chance low_t a failure as a success. Only tasks that are passed or
failed have bounds: graded scores have a dispersion instead (`weight_sampler.py`).
"""

from __future__ import annotations

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats

USUAL_RATE = 9.0
"""Rate b of the prior distribution Beta(1, b) of floors and of 1 - ceilings at the start: they are 1/10 in the mean.
This rate and `RATE_COUNTS` were chosen by the error of the values on `TUNING_SEEDS`."""

RATE_COUNTS = 40.0
"""Bounds that `USUAL_RATE` counts as, when the rate is drawn given the bounds of all tasks. With few scores a steep
curve with bounds and a flat one without look alike, so the scores alone would move the rate far."""

LARGEST = 0.45
"""Largest floor, and largest distance of a ceiling from 1: floor and ceiling must not change places."""

FIRST_DRAW = 4
"""Sweeps of the sampler before bounds are drawn: with all units dead, every score looks like an exception."""

LARGEST_LOGIT = 30.0
"""Largest absolute logit of which an exponential is taken, so that odds stay finite."""

TINY = 1e-9
"""A chance that counts as zero; it keeps the division finite."""


class ScoreBounds:
    """Floors and ceilings of all tasks in several chains side by side: `low` and `high` are [chains, tasks].

    `score` and `filled` are [tasks, rows]; `bounded` says which tasks have bounds. The other tasks have 0 and 1.
    """

    def __init__(self, chains: int, score: Floats, filled: Bools, bounded: Bools) -> None:
        self._success, self._score = score > 0.5, score
        self._bounded, self._filled = bounded, filled & bounded[:, None]
        self._rate = np.full(chains, USUAL_RATE)
        self._sweeps = 0
        usual = np.tile(np.where(bounded, 1.0 / (1.0 + USUAL_RATE), 0.0), (chains, 1))
        self.low, self.high = usual, 1.0 - usual

    def draw_outcomes(self, logit: Floats, rng: np.random.Generator) -> Floats:
        """Draw the latent outcome of every score given the logits, then the bounds given the outcomes."""
        self._sweeps += 1
        if self._sweeps <= FIRST_DRAW:
            return self._score
        low, high = self.low[:, :, None], self.high[:, :, None]
        ratio = np.where(self._success, high, 1.0 - high) / np.maximum(np.where(self._success, low, 1.0 - low), TINY)
        odds = ratio * np.exp(np.clip(logit, -LARGEST_LOGIT, LARGEST_LOGIT))
        passed = rng.random(odds.shape) * (odds + 1.0) < odds
        self._redraw(passed, rng)
        outcomes: Floats = np.where(self._bounded[:, None], passed, self._score)
        return outcomes

    def _redraw(self, passed: Bools, rng: np.random.Generator) -> None:
        """Draw floors and ceilings given the outcomes, then the rate of their prior distribution."""
        passed, failed = passed & self._filled, ~passed & self._filled
        below = self._draw_shares((passed & ~self._success).sum(axis=2), passed.sum(axis=2), rng)
        above = self._draw_shares((failed & self._success).sum(axis=2), failed.sum(axis=2), rng)
        total = -(np.log1p(-below) + np.log1p(-above)).sum(axis=1)
        counts = RATE_COUNTS + 2.0 * self._bounded.sum()
        self._rate = rng.gamma(counts, size=len(total)) / (RATE_COUNTS / USUAL_RATE + total)
        self.low, self.high = above, 1.0 - below

    def _draw_shares(self, exceptions: Floats, outcomes: Floats, rng: np.random.Generator) -> Floats:
        """Draw the chance of an exception on each task; zero on tasks without bounds."""
        drawn = rng.beta(1.0 + exceptions, self._rate[:, None] + outcomes - exceptions)
        shares: Floats = np.where(self._bounded, np.minimum(drawn, LARGEST), 0.0)
        return shares
