"""A plain regression of scores on units: how far the values may be off, from the run's own residuals.

The model of a noisy agent (`surrogate.py`) is precise where it is right and does not know where it is wrong. Here every
score is a task's level plus the effects of the units that are present. The coalitions are random, so the effects are
right on average whatever the scores depend on, and their standard errors come from the residuals (White's sandwich
estimate). They are noisier than the model's values. What they leave open, given that the units' effects scatter around
a common mean, is the error that the interval of a value allows for besides that of the model. Where the residuals of
the model show no effect of any unit, the model is right within the errors of this test, and less is allowed for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skillsv.estimate.adaptive.observations import Floats, ScoredCoalitions
from skillsv.estimate.adaptive.shared_scale import free_directions

LEVEL_RIDGE = 1.0
"""Ridge penalty on a task's level: the variance of a score over that of the levels, both about 0.1."""

EFFECT_RIDGE = 1e-3
"""Ridge penalty on a unit's effect: only large enough to keep the regression solvable."""

LEAST_FREE = 0.2
"""Smallest share of a residual that counts as free: a row that fits itself must not look exact."""

TINY = 1e-12
"""A variance that counts as zero; it keeps the division finite."""

SCALES = np.geomspace(0.001, 0.3, 16)
"""Standard deviations of the units' effects that are averaged over, as shares of the score."""

USUAL_SCALE = 0.03
"""Scale of the half-Cauchy prior distribution of that standard deviation: effects of about three points."""


TEST_ERRORS = 2.0
"""Standard errors of the test of the model that an interval allows for."""


def unexplained_variance(
    scored: ScoredCoalitions, tasks: int, predicted: Floats, by_model: Floats, prior: Floats | None = None
) -> Floats:
    """For each unit the squared error that the scores leave open beyond the variance `by_model` of the model's values.

    It is what a regression without the model leaves open, or less where the residuals of the model's `predicted` scores
    show no effect of the units: the mean square of these effects is compared with that of their errors.
    """
    effects, covariance = _regress(scored, tasks)
    square = np.diag(covariance)
    left, _ = _regress(replace(scored, score=scored.score - predicted), tasks)
    excess = max(float((left**2 - square + np.minimum(by_model, square)).mean()) / max(float(square.mean()), TINY), 0.0)
    not_refuted = (excess + TEST_ERRORS * np.sqrt(2.0 / len(square))) * square
    unexplained: Floats = np.minimum(_posterior_variance(effects, covariance, prior), not_refuted)
    return unexplained


def _regress(scored: ScoredCoalitions, tasks: int) -> tuple[Floats, Floats]:
    """The effects of the units on the mean score, and their sandwich covariance."""
    rows, units = scored.present.shape
    design = np.zeros((rows, tasks + units))
    design[np.arange(rows), scored.task] = 1.0
    design[:, tasks:] = scored.present - 0.5
    centre = scored.score.mean()
    ridge = np.diag([LEVEL_RIDGE] * tasks + [EFFECT_RIDGE] * units)
    inverse = np.linalg.inv(design.T @ design + ridge)
    coefficients = inverse @ (design.T @ (scored.score - centre))
    leverage = np.einsum("ij,ij->i", design @ inverse, design)
    residual = (scored.score - centre - design @ coefficients) / np.maximum(1.0 - leverage, LEAST_FREE)
    influence = (design * residual[:, None]) @ inverse[:, tasks:]
    return coefficients[tasks:], influence.T @ influence


def _posterior_variance(effects: Floats, covariance: Floats, prior: Floats | None = None) -> Floats:
    """The variance of each effect, if all effects scatter around a common mean by a scale that is averaged over.

    With `prior` they scatter around a common mean plus a multiple of the units' values for other agents.
    """
    error, vectors = np.linalg.eigh(covariance)
    error = np.maximum(error, 0.0)[None, :]
    turned, free = effects @ vectors, vectors.T @ free_directions(len(effects), prior)
    weight = 1.0 / (error + SCALES[:, None] ** 2)  # [scales, directions]
    information = np.einsum("sd,di,dj->sij", weight, free, free)
    inverse = np.linalg.inv(information)
    mean = np.einsum("sij,sd,dj,d->si", inverse, weight, free, turned)
    apart = turned[None, :] - mean @ free.T
    evidence = 0.5 * np.log(weight).sum(axis=1) - 0.5 * (weight * apart**2).sum(axis=1)
    evidence -= 0.5 * np.linalg.slogdet(information)[1]
    # a grid that is even in the logarithm has the Jacobian `SCALES`
    evidence += np.log(SCALES) - np.log1p((SCALES / USUAL_SCALE) ** 2)
    share = np.exp(evidence - evidence.max())
    share /= share.sum()
    kept = SCALES[:, None] ** 2 * weight  # how much of a difference from the mean is kept, per direction
    centres = (mean @ free.T + kept * apart) @ vectors.T
    leaning = np.einsum("ud,sd,di->sui", vectors, 1.0 - kept, free)
    within = (kept * error) @ (vectors**2).T + np.einsum("sui,sij,suj->su", leaning, inverse, leaning)
    centre = share @ centres
    variance: Floats = share @ (within + (centres - centre) ** 2)
    return variance
