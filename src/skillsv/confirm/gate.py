"""Is the new skill no worse than so many points? A bound that keeps its promise also where few tasks differ.

The percentile bootstrap of twenty tasks without a difference is [0, 0], which proves nothing: a skill that fails one
task in fifty leaves 120 tasks untouched in nine panels of a hundred. So the bound comes from a Bayesian bootstrap
with one imaginary task added on which the new skill loses everything (Gaffke 2005). Where scores are all or nothing
this is the exact binomial bound; fractional scores need no other rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skillsv.confirm.scoring import Floats
from skillsv.errors import SettingsError
from skillsv.model.format import short_points
from skillsv.model.value import Interval

WORST = -1.0
"""The largest loss a single task can suffer, since scores lie in [0, 1]."""

_DRAWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What is to be shown: that the drop is below `max_drop` (a share of the scale), at confidence `level`."""

    max_drop: float
    level: float = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.max_drop < 1:
            raise SettingsError(
                f"a drop of {short_points(self.max_drop)} points cannot be a gate.",
                hint="Give points above 0, such as 2.",
            )
        if not 0.5 <= self.level < 1:
            raise SettingsError(
                f"a level of {self.level:g} is no confidence level.", hint="Give 95, or another from 50 up to 99.9."
            )

    def tasks_needed(self) -> int:
        """The smallest panel on which the gate can be met at all, even if not a single score changes."""
        return math.ceil(math.log(1 - self.level) / math.log(1 - self.max_drop) - 1e-9)


def smallest_drop(tasks: int, level: float) -> float:
    """The smallest drop that so many tasks can rule out: the bound if not a single score changes."""
    return float(1 - (1 - level) ** (1 / tasks))


def worst_case(differences: Floats, level: float, rng: np.random.Generator) -> float:
    """The lower bound, at one-sided confidence `level`, of the mean difference new - old over tasks like these."""
    if not differences.any():
        return -smallest_drop(len(differences), level)
    values, counts = np.unique(differences, return_counts=True)
    values, counts = np.append(values, WORST), np.append(counts, 1)
    # Dirichlet weights as normalised gamma draws; equal differences share one draw.
    weights = rng.standard_gamma(counts.astype(np.float64), size=(_DRAWS, len(counts)))
    means = (weights @ values) / weights.sum(axis=1)
    return float(np.quantile(means, 1 - level))


def bounded_interval(
    values: Floats, level: float, rng: np.random.Generator, *, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Bounds of a mean over tasks whose values lie within `bounds`: the same rule on both sides."""
    lowest, highest = bounds
    half, span = 1 - (1 - level) / 2, highest - lowest
    # Into [-1, 0] and back: there the worst value is -1 whichever side is asked for.
    low = worst_case((values - highest) / span, half, rng) * span + highest
    high = lowest - worst_case((lowest - values) / span, half, rng) * span
    return low, high


# Intervals of means over tasks: whole tasks are drawn again, the same ones for everything that is compared.

DRAWS = 1000


def task_shares(tasks: int, draws: int, rng: np.random.Generator) -> Floats:
    """How often each task is drawn, as a share: a row per bootstrap sample of as many tasks as there are."""
    counts = rng.multinomial(tasks, np.full(tasks, 1.0 / tasks), size=draws)
    return counts.astype(np.float64) / tasks


def resampled(values: Floats, shares: Floats) -> Floats:
    """The means of every row of `values` [rows, tasks] in every bootstrap sample: [draws, rows]."""
    means: Floats = shares @ np.atleast_2d(values).T
    return means


def intervals(values: Floats, level: float, rng: np.random.Generator, *, draws: int = DRAWS) -> list[Interval]:
    """Mean and percentile interval of every row of `values`, from paired task-level bootstrap samples."""
    rows = np.atleast_2d(values)
    means = resampled(rows, task_shares(rows.shape[1], draws, rng))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    middle = rows.mean(axis=1)
    # A quantile of sums in another order may miss an equal mean by the last bit.
    return [
        Interval(value, min(one, value), max(other, value))
        for value, one, other in zip(middle.tolist(), low.tolist(), high.tolist(), strict=True)
    ]


def interval(values: Floats, level: float, rng: np.random.Generator, *, draws: int = DRAWS) -> Interval:
    """Mean and interval of one value per task."""
    return intervals(values, level, rng, draws=draws)[0]


def pooled(values: list[Floats], level: float, rng: np.random.Generator, *, draws: int = DRAWS) -> Interval:
    """The mean over several skills of their means over tasks; tasks are drawn again within each skill."""
    samples = np.stack([resampled(each, task_shares(len(each), draws, rng))[:, 0] for each in values])
    low, high = np.quantile(samples.mean(axis=0), [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(float(np.mean([each.mean() for each in values])), low, high)
