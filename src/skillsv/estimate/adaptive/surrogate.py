"""A statistical model of a noisy agent: one logistic curve per task, with weights that the tasks share in part.

    logit v(S, t) = sum_j x_j w_tj,   x_0 = 1, x_j = +-1/2     w_tj ~ b_j + Student-t(scale_j),   b_j ~ N(common, sb)

Here v(S, t) is the expected score of coalition S on task t (Eq. 3 is its mean over tasks), x_j says whether unit j is
in S, w_tj is the weight of unit j on task t, and b_j its weight shared by all tasks. Most units change nothing on most
tasks and much on a few tasks. Student's t has heavy tails, so those few weights stay large while the others are pulled
to the shared weight. All scales come from the data (empirical Bayes by an accelerated EM algorithm). The fit uses
Newton's method on one block per task; the shared weights join the blocks.

A score that passes or fails has the variance p(1 - p). Graded scores vary less: their variance is a share of p(1 - p),
the *dispersion*, which comes from the residuals of the fit. A score then counts as 1 / dispersion passes or failures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from skillsv.estimate.adaptive.observations import Floats, Numbers, ScoredCoalitions
from skillsv.estimate.adaptive.shared_scale import average_over_scales

TAILS = 2.0
"""Degrees of freedom of Student's t for the task weights: a small number means heavy tails."""

COIN_LIKE = 0.15
"""Variance of a score (at most 0.25) above which scores are nearly coin flips and single tasks look alike."""

LIGHTER = 40.0
"""Degrees of freedom that the tails gain per unit of variance above `COIN_LIKE`."""

STEPS = 40
"""Iterations of the fit; each is a Newton step on the weights and an EM step on the scales."""

HOLD = 2
"""Iterations before the scales change: the weights must first be near their optimum."""

DAMPING = 0.9
"""Share of Newton's step that is taken once the scales change, so that both do not oscillate."""

POOLING = 0.25
"""How far a unit's own scale is pulled to the scale of all units, as a share of the number of tasks."""

SPEED = 1.6
"""Exponent of the EM step on a variance: 1 is plain EM, which converges slowly."""

SMALLEST = 1e-6
"""Lower bound of a prior variance, in squared logits: a zero could never grow again."""

LARGEST = 100.0
"""Upper bound of a prior variance, in squared logits: larger ones change no probability."""

START_TASK = 0.09
"""Prior variance of a task's departure from the shared weights at the start, in squared logits."""

START_LEVEL = 2.25
"""Prior variance of the tasks' intercepts at the start, in squared logits: tasks differ much in difficulty."""

LEAST_DISPERSION = 0.02
"""Smallest dispersion of graded scores: a score counts as at most 50 passes or failures."""

LIMIT = 8.0
"""Largest absolute logit during the fit: beyond it a probability is 0 or 1 to three digits."""

PREDICTION_LIMIT = 30.0
"""Largest absolute logit of a prediction: its exponential still fits a 32-bit float."""

LEAST_CURVATURE = 1e-4
"""Smallest variance p(1 - p) of a score in Newton's step, so that the step stays bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrogate:
    """The fitted model: the shared weights with their covariance, and each task's weights given the shared ones.

    Given shared weights b, task t's weights are normal with covariance `block[t]` and mean
    `block[t] @ (pull[t] + precision[t] * b)`. `noise` is the mean variance of a score around its predicted mean.
    """

    shared: Floats
    shared_covariance: Floats
    block: Floats
    pull: Floats
    precision: Floats
    noise: float = 0.25

    @property
    def weights(self) -> Floats:
        """The most likely weights of each task [tasks, 1 + units]."""
        return self.weights_given(self.shared)

    def weights_given(self, shared: Floats) -> Floats:
        """The mean weights of each task for these shared weights."""
        means: Floats = np.einsum("tij,tj->ti", self.block, self.pull + self.precision * shared)
        return means

    def predict(self, scored: ScoredCoalitions) -> Floats:
        """The expected score of every scored coalition on its task."""
        weights = self.weights[scored.task]
        logits = weights[:, 0] + np.einsum("ij,ij->i", scored.present - 0.5, weights[:, 1:])
        chances: Floats = 1.0 / (1.0 + np.exp(-np.clip(logits, -PREDICTION_LIMIT, PREDICTION_LIMIT)))
        return chances


def fit_surrogate(scored: ScoredCoalitions, tasks: int) -> Surrogate:
    """Fit the model to all scores of one operator."""
    design, score, weight = rows_by_task(scored, tasks)
    size = design.shape[2]
    scales = np.full((tasks, size), START_TASK)
    scales[:, 0] = START_LEVEL
    weights = np.zeros((tasks, size))
    graded = bool(np.any((score != 0.0) & (score != 1.0)))
    dispersion = 1.0
    for step in range(STEPS):
        curvature, target = _newton_terms(design, score, weight, weights)
        noise = float(curvature.sum() / weight.sum())
        fit = _solve(design, curvature / dispersion, target, scales)
        change = fit.weights - weights
        weights += change if step <= HOLD else DAMPING * change
        if graded and step >= HOLD:
            dispersion = _dispersion(design, score, weight, weights, fit)
        if step >= HOLD and size > 1:
            scales = _update_scales(scales, fit, weights, noise)
    return replace(fit, noise=noise * dispersion)


def rows_by_task(scored: ScoredCoalitions, tasks: int) -> tuple[Floats, Floats, Floats]:
    """Design rows, scores and row weights by task [tasks, rows, 1 + units]; rows of weight 0 fill the shorter tasks."""
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


def _newton_terms(design: Floats, score: Floats, weight: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Curvature and working response of every row at the current weights, for a Newton step."""
    logit = np.clip(np.matmul(design, weights[:, :, None])[:, :, 0], -LIMIT, LIMIT)
    chance = 1.0 / (1.0 + np.exp(-logit))
    curvature = np.maximum(chance * (1.0 - chance), LEAST_CURVATURE)
    return weight * curvature, logit + (score - chance) / curvature


def _dispersion(design: Floats, score: Floats, weight: Floats, weights: Floats, fit: Surrogate) -> float:
    """The variance of a score around its prediction as a share of p(1 - p), corrected for the fitted weights."""
    chance = 1.0 / (1.0 + np.exp(-np.clip(np.matmul(design, weights[:, :, None])[:, :, 0], -LIMIT, LIMIT)))
    residual = float((weight * (score - chance) ** 2).sum())
    expected = float((weight * chance * (1.0 - chance)).sum())
    fitted = fit.precision.size - float((fit.precision * np.einsum("tii->ti", fit.block)).sum())
    free = max(float(weight.sum()) - fitted, 0.1 * float(weight.sum()))
    return float(np.clip(residual / max(expected, SMALLEST) * weight.sum() / free, LEAST_DISPERSION, 1.0))


def _solve(design: Floats, curvature: Floats, target: Floats, scales: Floats) -> Surrogate:
    """The weights that maximise Newton's quadratic and the prior together; the task blocks are eliminated first.

    `scales` are the prior variances of each task's departure from the shared weights [tasks, 1 + units].
    """
    size = design.shape[2]
    weighted = design.transpose(0, 2, 1) * curvature[:, None, :]
    precision = 1.0 / scales
    hessian = np.matmul(weighted, design)
    hessian[:, np.arange(size), np.arange(size)] += precision
    block = np.linalg.inv(hessian)
    pull = np.matmul(weighted, target[:, :, None])[:, :, 0]
    joint = np.diag(precision.sum(axis=0)) - np.einsum("ti,tij,tj->ij", precision, block, precision, optimize=True)
    joint_pull = np.einsum("ti,tij,tj->i", precision, block, pull, optimize=True)
    shared, covariance = average_over_scales(joint, joint_pull)
    return Surrogate(shared=shared, shared_covariance=covariance, block=block, pull=pull, precision=precision)


def _update_scales(scales: Floats, fit: Surrogate, weights: Floats, noise: float) -> Floats:
    """Change the scales of the tasks' departures by one accelerated EM step."""
    tails = TAILS + LIGHTER * max(noise - COIN_LIKE, 0.0)
    departures = _squared_departures(fit, weights)
    common = departures[:, 1:].mean()
    tasks = len(weights)
    own = (departures[:, 1:].sum(axis=0) + POOLING * tasks * common) / (tasks * (1.0 + POOLING))
    heavy_tailed = own * (tails + departures[:, 1:] / np.maximum(own, SMALLEST)) / (tails + 1.0)
    updated = np.empty_like(scales)
    updated[:, 1:] = _accelerate(scales[:, 1:], heavy_tailed)
    updated[:, 0] = _accelerate(scales[:1, 0], departures[:, 0].mean(keepdims=True))
    return updated


def _squared_departures(fit: Surrogate, weights: Floats) -> Floats:
    """The expected square of each task's departure from the shared weights [tasks, 1 + units]."""
    offset = fit.block * fit.precision[:, None, :] - np.eye(weights.shape[1])
    spread = np.matmul(offset, fit.shared_covariance)
    uncertainty = np.einsum("tii->ti", fit.block) + np.einsum("tij,tij->ti", spread, offset)
    total: Floats = (weights - fit.shared) ** 2 + uncertainty
    return total


def _accelerate(old: Floats, new: Floats) -> Floats:
    """Move a variance from the old value past the new one, because plain EM steps are too short."""
    return np.clip(old * (new / old) ** SPEED, SMALLEST, LARGEST)


class OrderPrefixes:
    """The prefixes of some orders of mu as rows of a design matrix, built once and used for every draw of weights."""

    def __init__(self, place: Numbers) -> None:
        self.orders, self.units = place.shape
        steps = np.arange(self.units + 1)
        design = np.empty((self.orders, self.units + 1, self.units + 1), dtype=np.float32)
        design[:, :, 0] = 1.0
        design[:, :, 1:] = (place[:, None, :] < steps[None, :, None]) - np.float32(0.5)
        self._design = design.reshape(-1, self.units + 1)
        self._unit_at = np.argsort(place, axis=1)

    def effects(self, weights: Floats, span: Floats | None = None) -> Floats:
        """The values phi (Eq. 2) of all units under these weights: mean marginals of the predicted score.

        `span` is the distance of each task's ceiling from its floor; None: 1 everywhere.
        """
        predicted = self._predict(weights)
        panel_mean = (
            predicted.mean(axis=1, dtype=np.float64)
            if span is None
            else (predicted @ (span / len(span)).astype(np.float32)).astype(np.float64)
        )
        mean: Floats = self._mean_marginals(panel_mean[:, None])[0]
        return mean

    def task_effects(self, weights: Floats, span: Floats | None = None) -> Floats:
        """The same for each task [tasks, units]."""
        effects = self._mean_marginals(self._predict(weights).astype(np.float64))
        return effects if span is None else effects * span[:, None]

    def _predict(self, weights: Floats) -> npt.NDArray[np.float32]:
        """The predicted score of every prefix (rows) on every task (columns)."""
        predicted: npt.NDArray[np.float32] = self._design @ weights.T.astype(np.float32)
        np.clip(predicted, -PREDICTION_LIMIT, PREDICTION_LIMIT, out=predicted)
        np.negative(predicted, out=predicted)
        np.exp(predicted, out=predicted)
        predicted += 1.0
        np.reciprocal(predicted, out=predicted)
        return predicted

    def _mean_marginals(self, predicted: Floats) -> Floats:
        """The mean marginal of every unit over the orders, for each column of predictions [columns, units]."""
        steps = np.diff(predicted.reshape(self.orders, self.units + 1, -1), axis=1)
        marginals = np.empty_like(steps)
        np.put_along_axis(marginals, self._unit_at[:, :, None], steps, axis=1)
        mean: Floats = marginals.mean(axis=0).T
        return mean


def predicted_lifts(weights: Floats) -> Floats:
    """The predicted score of the full skill minus that of {m}, per task: the sum of all units' values there."""
    half = weights[:, 1:].sum(axis=1) / 2.0
    logits = np.clip(np.stack([weights[:, 0] + half, weights[:, 0] - half]), -PREDICTION_LIMIT, PREDICTION_LIMIT)
    full, trigger = 1.0 / (1.0 + np.exp(-logits))
    lifts: Floats = full - trigger
    return lifts
