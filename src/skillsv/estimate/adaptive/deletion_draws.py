"""What deleting a set of units would lose, drawn from the posterior distribution of a noisy agent's model.

A single unit's interval says little about a set: errors of many units add up, or cancel. Here every draw holds weights
of all units at once, so it gives the loss of any set. Tasks are drawn, too (a Bayesian bootstrap), because a proof asks
other tasks than the ones that the model was fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, read_observations
from skillsv.estimate.adaptive.surrogate import PREDICTION_LIMIT, fit_surrogate
from skillsv.model.coalition import Observation
from skillsv.model.skill import CompiledSkill

DRAWS = 200
"""Draws of the posterior: the mean of a chance over them is known within .035."""

WIDER = 1.15
"""Factor on the spread of the draws around their mean: the fit is a little too sure of itself."""

EVERY_TASK = 0.05
"""Added to the deviation of a task where pairs on the same tasks are shared out by it, as the proof does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDrops:
    """A row per set, an entry per draw: the mean loss on tasks like these, and the variance of a pair's difference.

    `between` is the variance of the loss over tasks, `within` that of a pair on one task; more pairs on a task help
    only against the second.
    """

    drop: Floats
    between: Floats
    within: Floats

    def variance(self, pairs: int, tasks: int) -> Floats:
        """The variance of the mean difference times the pairs, for so many pairs on so many tasks."""
        total: Floats = self.between * pairs / max(tasks, 1) + self.within
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionDraws:
    """Draws of the weights of all units on all tasks, and of the tasks' shares in a mean.

    `weights` [draws, tasks, units] are logits, `full` [draws, tasks] the logit of the full skill, `shares` [draws,
    tasks]. `dispersion` is the variance of a score relative to that of a coin with the same mean. With `same_tasks` a
    proof asks these very tasks, and more often those with more noise.
    """

    units: tuple[str, ...]
    weights: Floats
    full: Floats
    shares: Floats
    dispersion: float
    same_tasks: bool = False

    def part(self, rows: slice) -> DeletionDraws:
        """Some of the draws."""
        return replace(self, weights=self.weights[rows], full=self.full[rows], shares=self.shares[rows])

    def of_sets(self, removed: Bools) -> SetDrops:
        """What deleting the units of each mask [sets, units] loses."""
        draws, tasks, units = self.weights.shape
        before = _chance(self.full)
        lost = removed.astype(np.float64) @ self.weights.reshape(-1, units).T
        after = _chance(self.full - lost.reshape(-1, draws, tasks))
        loss = before - after
        noise = self.dispersion * (before * (1 - before) + after * (1 - after))
        drop = (self.shares * loss).sum(axis=2)
        if self.same_tasks:
            wanted = np.sqrt(noise) + EVERY_TASK
            within = wanted.mean(axis=2) * (noise / wanted).mean(axis=2)
            return SetDrops(drop=drop, between=np.zeros(drop.shape), within=within)
        return SetDrops(
            drop=drop,
            between=np.maximum((self.shares * loss**2).sum(axis=2) - drop**2, 0.0),
            within=(self.shares * noise).sum(axis=2),
        )

    def mean_weights(self) -> tuple[Floats, Floats]:
        """Mean and spread over the draws of each unit's weight, averaged over tasks by the slope at the full skill."""
        chance = _chance(self.full)
        slope = self.shares * chance * (1 - chance) + 1e-4
        effect = (self.weights * slope[:, :, None]).sum(axis=1)
        return effect.mean(axis=0), effect.std(axis=0)


def draw_deletions(
    compiled: CompiledSkill,
    observations: Sequence[Observation],
    rng: np.random.Generator,
    *,
    pair_variance: float | None = None,
    judged: Mapping[str, float] | None = None,
    same_tasks: bool = False,
    draws: int = DRAWS,
) -> DeletionDraws:
    """Fit the model of a noisy agent and draw from its posterior distribution.

    `pair_variance` is the measured variance between two scores of the full skill; None: scores are coins. `judged` is
    an opinion on each unit: how much it counts is one more weight of the model, learnt from the scores. With
    `same_tasks` the losses are those on these tasks alone.
    """
    observed = read_observations(compiled, observations)
    present = observed.net.present.astype(np.float64)
    opinion = _standardised(compiled, judged)
    columns = present if opinion is None else np.column_stack([present, (present - 0.5) @ opinion + 0.5])
    fit = fit_surrogate(replace(observed.net, present=columns), len(observed.tasks))  # type: ignore[arg-type]
    middle = fit.weights
    drawn = middle + WIDER * (fit.draw_weights(draws, rng) - middle)
    units = len(compiled.execution)
    weights = drawn[:, :, 1 : units + 1]
    if opinion is not None:
        weights = weights + drawn[:, :, units + 1, None] * opinion
    full = drawn[:, :, 0] + weights.sum(axis=2) / 2
    return DeletionDraws(
        units=compiled.execution,
        weights=weights,
        full=full,
        shares=_task_shares(len(observed.tasks), draws, rng, same_tasks=same_tasks),
        dispersion=_dispersion(full, pair_variance),
        same_tasks=same_tasks,
    )


def _task_shares(tasks: int, draws: int, rng: np.random.Generator, *, same_tasks: bool) -> Floats:
    if same_tasks:
        return np.full((draws, tasks), 1.0 / tasks)
    return rng.dirichlet(np.ones(tasks), size=draws)


def _standardised(compiled: CompiledSkill, judged: Mapping[str, float] | None) -> Floats | None:
    """The opinions with mean 0 and spread 1, in the order of the units; None where they say nothing."""
    if not judged:
        return None
    known = np.array(list(judged.values()))
    if not known.std():
        return None
    return np.array([(judged.get(unit, known.mean()) - known.mean()) / known.std() for unit in compiled.execution])


def _dispersion(full: Floats, pair_variance: float | None) -> float:
    """The measured variance of a score of the full skill, relative to that of coins."""
    if pair_variance is None:
        return 1.0
    chance = _chance(full)
    coins = 2.0 * float((chance * (1 - chance)).mean())
    return float(np.clip(pair_variance / max(coins, 1e-6), 0.02, 1.5))


def _chance(logits: Floats) -> Floats:
    chance: Floats = 1.0 / (1.0 + np.exp(-np.clip(logits, -PREDICTION_LIMIT, PREDICTION_LIMIT)))
    return chance
