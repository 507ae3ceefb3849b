"""From a surrogate to values: differences of its predictions along orders of mu, averaged over tasks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skillsv.estimate.adaptive.observed import Floats, Numbers


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
