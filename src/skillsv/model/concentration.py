"""Concentration of the gains: how much of all positive value few units hold.

The gain of a unit is its net effect where that is positive, else 0; a unit without a value yet has no gain. Units are
taken best first. The page, the terminal, the held-out proof and the benchmarks all use these functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

BEST_SHARE = 0.1
"""The share of the units that `concentration` looks at: the paper's top 10 %."""

CARRIED_SHARE = 0.9
"""The share of the gains that `count_carriers` looks for."""

_ROUNDING = 1e-9
"""Shares that differ by less are equal."""


def cumulative_gains(values: Mapping[str, float]) -> tuple[float, ...]:
    """Item k is the share of all gains that the k best units hold, from 0 to 1; empty where no unit has a gain."""
    gains = sorted((value if value > 0 else 0.0 for value in values.values()), reverse=True)
    total = math.fsum(gains)
    if not total:
        return ()
    positive = sum(gain > 0 for gain in gains)  # often few, and the units behind them add nothing
    shares = [math.fsum(gains[:number]) / total for number in range(positive + 1)]
    return (*shares, *shares[-1:] * (len(gains) - positive))


def count_best(units: int, top: float = BEST_SHARE) -> int:
    """The number of units in the best `top` of them, rounded up: a tenth of eleven units is two."""
    return max(1, math.ceil(top * units - _ROUNDING)) if units else 0


def concentration(values: Mapping[str, float], top: float = BEST_SHARE) -> float | None:
    """The share of all gains that the best `top` of the units hold; None where no unit has a gain."""
    shares = cumulative_gains(values)
    return shares[count_best(len(values), top)] if shares else None


def count_carriers(values: Mapping[str, float], share: float = CARRIED_SHARE) -> int:
    """The smallest number of units, best first, that hold this share of all gains; 0 where no unit has a gain."""
    shares = cumulative_gains(values)
    return next((number for number, held in enumerate(shares) if held >= share - _ROUNDING), 0)
