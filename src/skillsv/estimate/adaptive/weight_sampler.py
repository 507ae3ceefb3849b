"""Draws of a noisy agent's weights, with units that act on no task, on some tasks or on most.

    logit v(S, t) = a_t + sum_j x_j w_tj,   x_j = +-1/2        w_tj = 0, or normal around the mean weight of unit j

A Gibbs sampler: each unit is assigned in turn to a group (`unit_groups.py`) given the weights of all others. Its tasks
are independent then, so the chance of a group is a product over tasks in closed form, and the sampler moves freely
between "dead" and any effect. Polya-Gamma variables make the logistic likelihood normal given them (Polson, Scott and
Windle 2013). Several chains run side by side in the same arrays. `sample_curves` draws a floor and a ceiling of each
task, too (`score_bounds.py`); `sample_weights` has neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.group_terms import VARIANCES, GroupTerms
from skillsv.estimate.adaptive.observations import Floats, ScoredCoalitions
from skillsv.estimate.adaptive.score_bounds import ScoreBounds
from skillsv.estimate.adaptive.surrogate import LEAST_DISPERSION, PREDICTION_LIMIT, rows_by_task
from skillsv.estimate.adaptive.unit_groups import GROUPS, MEANS, REACHES, UnitGroups

CHAINS = 4
"""Chains that run side by side: a chain that starts badly has a quarter of the weight."""

BURN_IN = 30
"""Sweeps that are not kept: the chains start with all units dead."""

SWEEPS = 40
"""Sweeps after that."""

KEPT = 2
"""Every so many sweeps a draw of every chain is kept: neighbouring sweeps are alike, and each draw costs time later."""

START_LEVEL = 2.25
"""Variance of the tasks' intercepts at the start, in squared logits: tasks differ much in difficulty."""

TERMS = 8
"""Terms of the infinite sum that a Polya-Gamma variable is; their sum is scaled to the mean of the whole."""


def sample_weights(
    scored: ScoredCoalitions,
    tasks: int,
    rng: np.random.Generator,
    prior: Floats | None = None,
    *,
    new_tasks: int = 0,
) -> Floats:
    """Draw weights of all units on all tasks given the scores of one operator [draws, tasks + new tasks, 1 + units].

    Column 0 is the intercept. `prior` holds the units' values for other agents, a row each. `new_tasks` come after the
    others: tasks of the same kind without a score, other ones in each draw.
    """
    drawn = []
    for chains in _kept_states(_Chains(scored, tasks, rng, prior)):
        weights = chains.all_weights
        drawn.append(np.concatenate([weights, chains.draw_tasks(new_tasks)], axis=1) if new_tasks else weights)
    return np.concatenate(drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCurves:
    """Draws of the curve of each task: v(S, t) = low_t + (high_t - low_t) p(S, t), p logistic with these weights.

    `weights` are [draws, tasks, 1 + units], the intercept first; `low` and `high` are [draws, tasks].
    """

    weights: Floats
    low: Floats
    high: Floats

    @property
    def span(self) -> Floats:
        """The distance of the ceiling from the floor [draws, tasks]."""
        distance: Floats = self.high - self.low
        return distance


def sample_curves(
    scored: ScoredCoalitions, tasks: int, rng: np.random.Generator, prior: Floats | None = None
) -> ScoreCurves:
    """Draw the weights of all units on all tasks, with the floor and the ceiling of each task."""
    weights, low, high = [], [], []
    for chains in _kept_states(_Chains(scored, tasks, rng, prior, with_bounds=True)):
        weights.append(chains.all_weights)
        low.append(chains.low)
        high.append(chains.high)
    return ScoreCurves(weights=np.concatenate(weights), low=np.concatenate(low), high=np.concatenate(high))


def _kept_states(chains: _Chains) -> Iterator[_Chains]:
    """Run the chains, and stop at every sweep whose state is kept."""
    for sweep in range(BURN_IN + SWEEPS):
        chains.sweep(settled=sweep >= BURN_IN)
        if sweep >= BURN_IN and sweep % KEPT == 0:
            yield chains


def mean_scores(curves: ScoreCurves, scored: ScoredCoalitions) -> Floats:
    """The expected score of every scored coalition on its task, averaged over the draws."""
    signs, total = scored.present - 0.5, np.zeros(len(scored.score))
    for weights, low, span in zip(curves.weights, curves.low, curves.span, strict=True):
        own = weights[scored.task]
        chance = _chance(own[:, 0] + np.einsum("ij,ij->i", signs, own[:, 1:]))
        total += low[scored.task] + span[scored.task] * chance
    return total / len(curves.weights)


class _Chains:
    """The state of all chains. Arrays have the chains first, then tasks, then the rows of a task."""

    def __init__(
        self,
        scored: ScoredCoalitions,
        tasks: int,
        rng: np.random.Generator,
        prior: Floats | None,
        *,
        with_bounds: bool = False,
    ) -> None:
        design, self._score, weight = rows_by_task(scored, tasks)
        self._present = np.ascontiguousarray(design[:, :, 1:].transpose(2, 0, 1))  # [units, tasks, rows]
        self._filled, self._rng = weight > 0, rng
        self._graded = np.any((self._score != 0.0) & (self._score != 1.0), axis=1)
        units = len(self._present)
        rate = (self._score.sum(axis=1) + 0.5) / (weight.sum(axis=1) + 1.0)
        self.level = np.tile(np.log(rate / (1.0 - rate)), (CHAINS, 1))
        self.weights = np.zeros((CHAINS, tasks, units))
        self._logit = np.repeat(self.level[:, :, None], self._score.shape[1], axis=2)
        self._level_mean, self._level_variance = np.zeros(CHAINS), np.full(CHAINS, START_LEVEL)
        self._dispersion = np.ones(tasks)
        self._bounds = ScoreBounds(CHAINS, self._score, self._filled, ~self._graded & with_bounds)
        self._with_bounds = with_bounds
        self._groups = UnitGroups(CHAINS, units, prior)
        self._group = np.full((CHAINS, units), GROUPS)

    @property
    def all_weights(self) -> Floats:
        """The intercepts and the weights of all units [chains, tasks, 1 + units]."""
        joined: Floats = np.concatenate([self.level[:, :, None], self.weights], axis=2)
        return joined

    @property
    def low(self) -> Floats:
        """The floor of each task [chains, tasks]."""
        return self._bounds.low

    @property
    def high(self) -> Floats:
        """The ceiling of each task [chains, tasks]."""
        return self._bounds.high

    def sweep(self, *, settled: bool) -> None:
        """Draw everything once, each part given all others. Once `settled`, the dispersion stays as it is."""
        if self._graded.any() and not settled:
            self._dispersion[self._graded] = self._measure_dispersion()
        outcomes = self._bounds.draw_outcomes(self._logit, self._rng) if self._with_bounds else self._score
        count = 1.0 / self._dispersion[:, None]
        self._precision = _draw_polya_gamma(count, self._logit, self._rng) * self._filled
        self._residual = (outcomes - 0.5) * count * self._filled - self._precision * self._logit
        self._update_levels()
        terms = GroupTerms(0.25 * self._precision.sum(axis=2))
        log_prior = self._groups.log_prior()
        for unit in self._rng.permutation(len(self._present)):
            self._update_unit(int(unit), terms, log_prior[:, unit])
        self._groups.redraw(self._group, self._rng)

    def draw_tasks(self, count: int) -> Floats:
        """Draw intercepts and weights of tasks without a score, by the units' groups [chains, count, 1 + units]."""
        rng, live = self._rng, self._group < GROUPS
        chains, units = live.shape
        mean, reach = np.divmod(np.where(live, self._group, 0), len(REACHES))
        acts = rng.random((chains, count, units)) < (REACHES[reach] * live)[:, None, :]
        weights = rng.normal(MEANS[mean][:, None, :], np.sqrt(VARIANCES[mean])[:, None, :], (chains, count, units))
        spread = np.sqrt(self._level_variance)
        level = rng.normal(self._level_mean[:, None], spread[:, None], (chains, count))
        drawn: Floats = np.concatenate([level[:, :, None], np.where(acts, weights, 0.0)], axis=2)
        return drawn

    def _measure_dispersion(self) -> float:
        """The variance of a score around its prediction as a share of p(1 - p), on the graded tasks."""
        chance, filled = _chance(self._logit), self._filled & self._graded[:, None]
        residual = float((filled * (self._score - chance) ** 2).sum())
        expected = float((filled * chance * (1.0 - chance)).sum())
        return float(np.clip(residual / max(expected, LEAST_DISPERSION), LEAST_DISPERSION, 1.0))

    def _update_levels(self) -> None:
        """Draw the intercepts of the tasks, then their mean and variance."""
        rng, information = self._rng, self._precision.sum(axis=2)
        chains, tasks = self.level.shape
        precision = information + 1.0 / self._level_variance[:, None]
        pull = self._residual.sum(axis=2) + information * self.level
        pull += (self._level_mean / self._level_variance)[:, None]
        drawn = pull / precision + rng.standard_normal((chains, tasks)) / np.sqrt(precision)
        self._shift((drawn - self.level)[:, :, None])
        self.level = drawn
        spread = np.sqrt(self._level_variance / tasks)
        self._level_mean = drawn.mean(axis=1) + rng.standard_normal(chains) * spread
        squares = ((drawn - self._level_mean[:, None]) ** 2).sum(axis=1)
        self._level_variance = (squares / 2.0 + 1.0) / rng.gamma(tasks / 2.0 + 0.5, size=chains)

    def _update_unit(self, unit: int, terms: GroupTerms, log_prior: Floats) -> None:
        """Draw the group of a unit, the tasks that it acts on, and its weights there."""
        rng, present, old = self._rng, self._present[unit], self.weights[:, :, unit]
        pull = np.einsum("tr,ctr->ct", present, self._residual) + terms.information * old
        ratio = terms.likelihood_ratios(pull)
        log_chance = terms.log_likelihood(ratio)
        log_chance += log_prior
        sums = np.exp(log_chance - log_chance.max(axis=1, keepdims=True)).cumsum(axis=1)
        group = (sums < rng.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1)
        mean, reach = np.divmod(np.where(group < GROUPS, group, 0), len(REACHES))
        rows = np.arange(len(sums))
        odds = REACHES[reach][:, None] * ratio[rows, mean]
        acts = rng.random(odds.shape) * (odds + 1.0 - REACHES[reach][:, None]) < odds
        acts &= (group < GROUPS)[:, None]
        precision = terms.precision[rows, mean]
        drawn = (pull + terms.pull[mean][:, None]) / precision + rng.standard_normal(odds.shape) / np.sqrt(precision)
        drawn = np.where(acts, drawn, 0.0)
        self._shift((drawn - old)[:, :, None] * present)
        self.weights[:, :, unit], self._group[:, unit] = drawn, group

    def _shift(self, change: Floats) -> None:
        """Change the logits, and what they leave of the scores."""
        self._logit += change
        self._residual -= self._precision * change


def _draw_polya_gamma(count: Floats, logit: Floats, rng: np.random.Generator) -> Floats:
    """Draw Polya-Gamma variables PG(count, logit): the precision of a working response of the logistic likelihood."""
    size = np.abs(logit)
    denominator = (np.arange(1, TERMS + 1) - 0.5) ** 2 + (size[..., None] / (2.0 * np.pi)) ** 2
    shape = denominator.shape
    alike = bool(np.all(count == 1.0))
    gammas = rng.standard_exponential(shape) if alike else rng.standard_gamma(count[..., None], shape)
    expected = np.where(size < 1e-3, 0.25, np.tanh(size / 2.0) / (2.0 * np.maximum(size, 1e-3)))
    drawn: Floats = expected * (gammas / denominator).sum(axis=-1) / (1.0 / denominator).sum(axis=-1)
    return drawn


def _chance(logit: Floats) -> Floats:
    chance: Floats = 1.0 / (1.0 + np.exp(-np.clip(logit, -PREDICTION_LIMIT, PREDICTION_LIMIT)))
    return chance
