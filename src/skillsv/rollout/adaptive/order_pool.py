"""Feasible orders that an adaptive run draws once, to choose coalitions from their prefixes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillsv.model.task_table import Mask
from skillsv.rollout.adaptive.problem import AdaptiveProblem

Integers = npt.NDArray[np.int64]

POOL = 1000
"""Orders drawn for choosing coalitions; fewer for skills with hundreds of units, because drawing takes time."""

LEAST_POOL = 64
"""Orders drawn at least, however many units there are."""

POOL_UNITS = 50
"""The pool is divided by the number of units in multiples of this: 1000 orders below 100 units, 100 at 500."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderPool:
    """Feasible orders drawn once: `orders[q]` lists unit numbers, `place[q, i]` is the position of unit i."""

    orders: Integers
    place: Integers

    @property
    def size(self) -> int:
        """The number of execution units."""
        return int(self.orders.shape[1])

    def prefix(self, number: int, length: int) -> Mask:
        """The coalition of the first `length` units of one order."""
        return sum(1 << unit for unit in self.orders[number, :length].tolist())


def draw_pool(problem: AdaptiveProblem, rng: np.random.Generator) -> OrderPool:
    """Draw orders from mu as arrays of unit numbers."""
    number = {unit: place for place, unit in enumerate(problem.units)}
    count = max(POOL // max(1, len(number) // POOL_UNITS), LEAST_POOL)
    drawn = [[number[unit] for unit in problem.sample_order(rng)[1:]] for _ in range(count)]
    orders = np.array(drawn, dtype=np.int64).reshape(count, len(number))
    return OrderPool(orders=orders, place=np.argsort(orders, axis=1))
