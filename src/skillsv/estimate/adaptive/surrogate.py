"""A model of a noisy agent: a logistic curve per task whose weights borrow strength from all other tasks.

    logit v(S, t) = sum_j x_j w_tj,   x_0 = 1, x_j = +-1/2     w_tj ~ b_j + Student-t(scale_j),   b_j ~ N(common, sb)

Most units do nothing on most tasks and much on a few: the heavy tails of the task parts leave those few alone while
the rest is pulled to what the unit does elsewhere. All scales come from the data (evidence, by accelerated EM); the
fit is Newton's method on blocks, one per task, joined by the shared weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from skillsv.estimate.adaptive.observations import Floats, Numbers, Scored

TAILS, COIN_LIKE, LIGHTER = 2.0, 0.15, 40.0
"""Degrees of freedom of the task parts: small is heavy-tailed. Where scores are nearly coins (their variance is above
COIN_LIKE, of at most 0.25) single tasks cannot be told apart, and the tails become lighter."""

STEPS, HOLD, DAMPING = 40, 2, 0.9
POOLING = 0.25
"""How much a unit's own scale is pulled to that of all units, in units of the number of tasks."""

SPEED, SMALLEST, LARGEST = 1.6, 1e-6, 100.0
START_SHARED, START_TASK, START_LEVEL = 0.09, 0.09, 2.25
LIMIT, LEAST_CURVATURE = 8.0, 1e-4
FREE = 1e-3
"""The common mean of the shared weights is all but free: this much of its prior precision is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrogate:
    """The fit: shared weights with their covariance, and what the weights of each task are given the shared ones.

    Given shared weights b, task t's weights are normal with covariance `block[t]` and mean
    `block[t] @ (pull[t] + precision[t] * b)`. `noise` is the mean variance of a score around its predicted chance.
    """

    shared: Floats
    shared_covariance: Floats
    block: Floats
    pull: Floats
    precision: Floats
    noise: float = 0.25

    @property
    def weights(self) -> Floats:
        """The best weights of each task [tasks, 1 + units]."""
        return self.given(self.shared)

    def given(self, shared: Floats) -> Floats:
        """The mean weights of each task for these shared weights."""
        means: Floats = np.einsum("tij,tj->ti", self.block, self.pull + self.precision * shared)
        return means

    def draws(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        """Weights drawn from the fit's own uncertainty [draws, tasks, 1 + units]."""
        size = len(self.shared)
        outer = np.linalg.cholesky(self.shared_covariance + 1e-10 * np.eye(size))
        inner = np.linalg.cholesky(self.block + 1e-10 * np.eye(size))
        drawn = np.empty((count, *self.pull.shape))
        for row in range(count):
            shared = self.shared + outer @ rng.standard_normal(size)
            luck = rng.standard_normal(self.pull.shape)
            drawn[row] = self.given(shared) + np.einsum("tij,tj->ti", inner, luck)
        return drawn


@dataclass(slots=True)
class _Scales:
    """Prior variances: of the shared weights, and of each task's departure from them (column 0 is the level)."""

    shared: float
    task: Floats


def fit_surrogate(scored: Scored, tasks: int, steps: int = STEPS) -> Surrogate:
    """Fit the model to all scores of one operator."""
    design, score, weight = _by_task(scored, tasks)
    size = design.shape[2]
    scales = _Scales(START_SHARED, np.full((tasks, size), START_TASK))
    scales.task[:, 0] = START_LEVEL
    weights = np.zeros((tasks, size))
    for step in range(steps):
        curvature, target = _working(design, score, weight, weights)
        noise = float(curvature.sum() / weight.sum())
        fit = _solve(design, curvature, target, scales)
        moved = fit.weights - weights
        weights += moved if step <= HOLD else DAMPING * moved
        if step >= HOLD and size > 1:
            _update(scales, fit, weights, noise)
    return replace(fit, noise=noise)


def _by_task(scored: Scored, tasks: int) -> tuple[Floats, Floats, Floats]:
    """Rows of each task side by side, padded with weightless ones: [tasks, rows, 1 + units]."""
    order = np.argsort(scored.task, kind="stable")
    task = scored.task[order]
    slot = np.arange(len(task)) - np.searchsorted(task, task)
    rows = int(np.bincount(task, minlength=tasks).max())
    design = np.zeros((tasks, rows, 1 + scored.present.shape[1]))
    score, weight = np.zeros((tasks, rows)), np.zeros((tasks, rows))
    design[task, slot, 0] = 1.0
    design[task, slot, 1:] = scored.present[order] - 0.5
    score[task, slot], weight[task, slot] = scored.score[order], 1.0
    return design, score, weight


def _working(design: Floats, score: Floats, weight: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Newton's quadratic at the present weights: curvature and working response of every row."""
    logit = np.clip(np.matmul(design, weights[:, :, None])[:, :, 0], -LIMIT, LIMIT)
    chance = 1.0 / (1.0 + np.exp(-logit))
    curvature = np.maximum(chance * (1.0 - chance), LEAST_CURVATURE)
    return weight * curvature, logit + (score - chance) / curvature


def _solve(design: Floats, curvature: Floats, target: Floats, scales: _Scales) -> Surrogate:
    """The weights that maximise the quadratic and the prior together; task blocks are eliminated first."""
    size = design.shape[2]
    turned = design.transpose(0, 2, 1) * curvature[:, None, :]
    precision = 1.0 / scales.task
    hessian = np.matmul(turned, design)
    hessian[:, np.arange(size), np.arange(size)] += precision
    block = np.linalg.inv(hessian)
    pull = np.matmul(turned, target[:, :, None])[:, :, 0]
    joint = np.diag(precision.sum(axis=0)) - np.einsum("ti,tij,tj->ij", precision, block, precision, optimize=True)
    joint += _shared_precision(size, scales.shared)
    covariance = np.linalg.inv(joint)
    shared = covariance @ np.einsum("ti,tij,tj->i", precision, block, pull, optimize=True)
    return Surrogate(shared=shared, shared_covariance=covariance, block=block, pull=pull, precision=precision)


def _shared_precision(size: int, variance: float) -> Floats:
    """Shared weights spread around a common mean that the data chooses; the level is free."""
    units = size - 1
    prior = np.zeros((size, size))
    prior[0, 0] = 0.01
    if units:
        prior[1:, 1:] = (np.eye(units) - (1.0 - FREE) / units) / variance
    return prior


def _update(scales: _Scales, fit: Surrogate, weights: Floats, noise: float) -> None:
    """One accelerated EM step for all scales."""
    tails = TAILS + LIGHTER * max(noise - COIN_LIKE, 0.0)
    covariance = fit.shared_covariance
    units = weights.shape[1] - 1
    departure = _departure(fit, weights)
    common = departure[:, 1:].mean()
    tasks = len(weights)
    own = (departure[:, 1:].sum(axis=0) + POOLING * tasks * common) / (tasks * (1.0 + POOLING))
    tailed = own * (tails + departure[:, 1:] / np.maximum(own, SMALLEST)) / (tails + 1.0)
    scales.task[:, 1:] = _towards(scales.task[:, 1:], tailed)
    scales.task[:, 0] = _towards(scales.task[:1, 0], departure[:, 0].mean(keepdims=True))
    spread = ((fit.shared[1:] - fit.shared[1:].mean()) ** 2).sum() / units
    doubt = np.diag(covariance)[1:].mean() - covariance[1:, 1:].mean()
    scales.shared = float(_towards(np.array([scales.shared]), np.array([spread + doubt]))[0])


def _departure(fit: Surrogate, weights: Floats) -> Floats:
    """The expected square of each task's departure from the shared weights."""
    apart = fit.block * fit.precision[:, None, :] - np.eye(weights.shape[1])
    spread = np.matmul(apart, fit.shared_covariance)
    doubt = np.einsum("tii->ti", fit.block) + np.einsum("tij,tij->ti", spread, apart)
    total: Floats = (weights - fit.shared) ** 2 + doubt
    return total


def _towards(old: Floats, new: Floats) -> Floats:
    """A step from the old variance past the new one, which EM alone would reach too slowly."""
    return np.clip(old * (new / old) ** SPEED, SMALLEST, LARGEST)


# From a surrogate to values: differences of its predictions along orders of mu, averaged over tasks.


class OrderLadder:
    """Prefixes of some orders as rows of a design matrix, made once and used for every draw."""

    def __init__(self, place: Numbers) -> None:
        self.orders, self.units = place.shape
        steps = np.arange(self.units + 1)
        rungs = np.empty((self.orders, self.units + 1, self.units + 1), dtype=np.float32)
        rungs[:, :, 0] = 1.0
        rungs[:, :, 1:] = (place[:, None, :] < steps[None, :, None]) - np.float32(0.5)
        self._rungs = rungs.reshape(-1, self.units + 1)
        self._seat = np.argsort(place, axis=1)

    def effects(self, weights: Floats) -> Floats:
        """Values of all units: the mean over orders and tasks of the change of the predicted score when it enters."""
        logits = self._rungs @ weights.T.astype(np.float32)
        np.clip(logits, -30.0, 30.0, out=logits)
        np.negative(logits, out=logits)
        np.exp(logits, out=logits)
        logits += 1.0
        np.reciprocal(logits, out=logits)
        level = logits.mean(axis=1, dtype=np.float64).reshape(self.orders, -1)
        return self._seated(np.diff(level, axis=1))

    def _seated(self, steps: npt.NDArray[np.float64]) -> Floats:
        along = np.empty_like(steps)
        np.put_along_axis(along, self._seat, steps, axis=1)
        mean: Floats = along.mean(axis=0)
        return mean
