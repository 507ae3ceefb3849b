"""How likely the scores of a task are for each group of units, given the weights of all other units.

The sampler (`weight_sampler.py`) assigns each unit to a group by these terms; the groups are those of `unit_groups.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skillsv.estimate.adaptive.observations import Floats
from skillsv.estimate.adaptive.unit_groups import GROUPS, MEANS, REACHES

SPREAD = 0.6
"""Standard deviation of a unit's weights over the tasks that it acts on, as a share of their mean."""

LEAST_SPREAD = 0.1
"""Smallest such standard deviation, in logits."""

VARIANCES = (SPREAD * MEANS) ** 2 + LEAST_SPREAD**2
"""Variance of a unit's weights over the tasks that it acts on, for each mean weight."""

LARGEST_RATIO = 50.0
"""Largest log ratio of a group's likelihood on one task: its exponential fits a 32-bit float."""


class GroupTerms:
    """What the chances of all groups have in common within a sweep; `information` is that of a weight [chains, tasks].

    A unit's weights have the precision s around their mean m, and the likelihood of a weight w on a task is
    exp(b w - a w^2 / 2). So the scores of the task are more likely if the unit acts on it, by the factor
    sqrt(s / (a + s)) exp((b + s m)^2 / 2(a + s) - s m^2 / 2).
    """

    def __init__(self, information: Floats) -> None:
        around = 1.0 / VARIANCES
        self.information = information
        self.pull = around * MEANS
        self.precision = information[:, None, :] + around[:, None]  # [chains, means, tasks]
        constant = -0.5 * (np.log(self.precision / around[:, None]) + (around * MEANS**2)[:, None])
        self._constant, self._half = constant.astype(np.float32), (0.5 / self.precision).astype(np.float32)
        self._logs = np.empty((len(REACHES), *self.precision.shape), dtype=np.float32)

    def likelihood_ratios(self, pull: Floats) -> npt.NDArray[np.float32]:
        """How much more likely the scores of each task are if the unit acts on it [chains, means, tasks]."""
        ratio: npt.NDArray[np.float32] = pull.astype(np.float32)[:, None, :] + self.pull.astype(np.float32)[:, None]
        ratio *= ratio
        ratio *= self._half
        ratio += self._constant
        np.minimum(ratio, LARGEST_RATIO, out=ratio)
        np.exp(ratio, out=ratio)
        return ratio

    def log_likelihood(self, ratio: npt.NDArray[np.float32]) -> Floats:
        """The log likelihood of each group, dead (which is zero) last [chains, groups + 1]."""
        for place, reach in enumerate(REACHES.astype(np.float32)):
            np.multiply(ratio, reach, out=self._logs[place])
            self._logs[place] += np.float32(1.0) - reach
        np.log(self._logs, out=self._logs)
        total = np.zeros((len(ratio), GROUPS + 1))
        total[:, :GROUPS] = self._logs.sum(axis=3).transpose(1, 2, 0).reshape(len(ratio), GROUPS)
        return total
