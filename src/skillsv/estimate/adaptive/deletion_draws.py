"""What deleting a set of units would lose, drawn from the posterior distribution of a noisy agent's model.

A single unit's interval says little about a set: errors of many units add up, or cancel. Here every draw holds weights
of all units at once (`weight_sampler.py`), so it gives the loss of any set. A proof asks other tasks than the ones that
were scored. So a draw holds tasks of both kinds: scored ones with random shares (a Bayesian bootstrap), which know how
the units of one task go together, and new ones on which each unit acts as often as its reach says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, read_observations
from skillsv.estimate.adaptive.surrogate import PREDICTION_LIMIT
from skillsv.estimate.adaptive.weight_sampler import sample_weights
from skillsv.model.coalition import Observation
from skillsv.model.skill import CompiledSkill

RUNS = 3
"""Runs of the sampler. Each starts anew, so no run that is stuck decides alone."""

CHOOSING_RUNS = 2
"""Runs whose draws choose a set. Those of the others describe it, and do not look better than they are."""

NEW_TASKS = 60
"""Tasks without a score in a draw: with the scored ones, about as many as a proof asks."""

AT_ONCE = 2_000_000
"""Scores that are predicted in one batch, which bounds memory."""

EVERY_TASK = 0.05
"""Added to the deviation of a task where pairs on the same tasks are shared out by it, as the proof does."""

OPTIMISM = 0.5
"""Standard deviations of the draws that the loss of a chosen set is larger by. The model is too sure where units do not
add up, and it prefers sets whose loss it underestimates: by .4 to .8 of them in games for tuning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDrops:
    """A row per set, an entry per draw: the mean loss on tasks like these, and the variance of a pair's difference.

    `between` is the variance of the loss over tasks, `within` that of a pair on one task; more pairs on a task help
    only against the second.
    """

    drop: Floats
    between: Floats
    within: Floats

    @property
    def if_chosen(self) -> Floats:
        """The losses of sets that are chosen by these draws."""
        larger: Floats = self.drop + OPTIMISM * self.drop.std(axis=1, keepdims=True)
        return larger

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
        size = max(1, AT_ONCE // self.full.size)
        parts = [self._of_some(removed[first : first + size]) for first in range(0, max(len(removed), 1), size)]
        return SetDrops(
            drop=np.concatenate([part.drop for part in parts]),
            between=np.concatenate([part.between for part in parts]),
            within=np.concatenate([part.within for part in parts]),
        )

    def _of_some(self, removed: Bools) -> SetDrops:
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
    runs: int = 1,
) -> DeletionDraws:
    """Draw what the scores of a noisy agent leave possible, in so many runs of the sampler.

    `pair_variance` is the measured variance between two scores of the full skill; None: scores are coins. `judged` is
    an opinion on each unit: how much it counts is learnt from the scores. With `same_tasks` the losses are those on
    these tasks alone.
    """
    observed = read_observations(compiled, observations)
    tasks, new = len(observed.tasks), 0 if same_tasks else NEW_TASKS
    opinion = _opinion_rows(compiled, judged)
    drawn = np.concatenate([sample_weights(observed.net, tasks, rng, opinion, new_tasks=new) for _ in range(runs)])
    weights = drawn[:, :, 1:]
    full = drawn[:, :, 0] + weights.sum(axis=2) / 2
    return DeletionDraws(
        units=compiled.execution,
        weights=weights,
        full=full,
        shares=_task_shares(tasks, new, len(drawn), rng, same_tasks=same_tasks),
        dispersion=_dispersion(full[:, :tasks], pair_variance),
        same_tasks=same_tasks,
    )


def draw_to_choose(
    compiled: CompiledSkill,
    observations: Sequence[Observation],
    rng: np.random.Generator,
    *,
    pair_variance: float,
    judged: Mapping[str, float] | None = None,
    same_tasks: bool = False,
) -> tuple[DeletionDraws, DeletionDraws]:
    """Draws to choose a set by, and draws of other runs of the sampler to describe it by."""
    drawn = draw_deletions(
        compiled,
        observations,
        rng,
        pair_variance=pair_variance,
        judged=judged,
        same_tasks=same_tasks,
        runs=RUNS,
    )
    choosing = len(drawn.full) * CHOOSING_RUNS // RUNS
    return drawn.part(slice(None, choosing)), drawn.part(slice(choosing, None))


def _task_shares(tasks: int, new: int, draws: int, rng: np.random.Generator, *, same_tasks: bool) -> Floats:
    """The share of each task in the mean: all alike for these tasks, random ones where they stand for others."""
    if same_tasks:
        return np.full((draws, tasks), 1.0 / tasks)
    scored = rng.dirichlet(np.ones(tasks), size=draws) * tasks / (tasks + new)
    return np.concatenate([scored, np.full((draws, new), 1.0 / (tasks + new))], axis=1)


def _opinion_rows(compiled: CompiledSkill, judged: Mapping[str, float] | None) -> Floats | None:
    """The opinions in the order of the units, as one row; None where they say nothing."""
    if not judged or len(set(judged.values())) == 1:
        return None
    usual = float(np.mean(list(judged.values())))
    return np.array([[judged.get(unit, usual) for unit in compiled.execution]])


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
