"""The weights that all tasks share, averaged over the scale of their prior distribution.

With few rollouts the scores say little about how much the units differ. The single most likely scale is then often
zero: all units would get the same value, with narrow intervals. So the scale is not chosen. The weights are averaged
over a grid of scales, each with its evidence (the probability of the scores under it). With many rollouts one scale has
all the weight.
"""

from __future__ import annotations

import numpy as np

from skillsv.estimate.adaptive.observations import Floats

SCALES = np.geomspace(0.02, 1.6, 10)
"""Standard deviations of the shared weights that are averaged over, in logits: from no difference to a large one."""

USUAL_SCALE = 0.3
"""Scale of the half-Cauchy prior distribution of the standard deviation, in logits: a usual effect of a unit."""

LEVEL_PRECISION = 0.01
"""Prior precision of the shared intercept: almost no constraint."""

FREE = 1e-3
"""Share of prior precision left on the common mean of the shared weights: the scores choose this mean."""


LEAST_DIRECTION = 1e-6
"""Size below which a direction is none: the values of two agents may be multiples of each other."""

TINY = 1e-12
"""A length that counts as zero; it keeps the division finite."""


def free_directions(units: int, prior: Floats | None = None) -> Floats:
    """Orthonormal directions that the weights may take at no cost [units, directions]: a common mean, and the priors.

    `prior` holds the values of the units for other agents, a row for each agent. So the weights scatter around a common
    mean plus a multiple of these values. The scores choose the multiple, which may be zero, and how far they scatter.
    """
    columns = np.ones((units, 1)) if prior is None else np.column_stack([np.ones(units), prior.T])
    directions, sizes, _ = np.linalg.svd(
        columns / np.maximum(np.linalg.norm(columns, axis=0), TINY), full_matrices=False
    )
    found: Floats = directions[:, sizes > LEAST_DIRECTION]
    return found


def average_over_scales(information: Floats, pull: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of the shared weights, given the scores' precision matrix and its product with the weights.

    Column 0 is the intercept. The mixture over scales is summarised by its first two moments.
    """
    units = len(pull) - 1
    if not units:
        alone: Floats = np.linalg.inv(information + LEVEL_PRECISION).astype(np.float64)
        return alone @ pull, alone
    free = free_directions(units)
    shape = np.eye(units) - (1.0 - FREE) * free @ free.T
    prior = np.broadcast_to(information, (len(SCALES), *information.shape)).copy()
    prior[:, 0, 0] += LEVEL_PRECISION
    prior[:, 1:, 1:] += shape / (SCALES**2)[:, None, None]
    covariance = np.linalg.inv(prior)
    means = covariance @ pull
    # log evidence up to a constant: the determinant of the prior, that of the posterior, and the fit
    evidence = -units * np.log(SCALES) - 0.5 * np.linalg.slogdet(prior)[1] + 0.5 * means @ pull
    # a grid that is even in the logarithm has the Jacobian `SCALES`
    evidence += np.log(SCALES) - np.log1p((SCALES / USUAL_SCALE) ** 2)
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    mean: Floats = weight @ means
    apart = means - mean
    total: Floats = np.einsum("s,sij->ij", weight, covariance) + (apart * weight[:, None]).T @ apart
    return mean, total
