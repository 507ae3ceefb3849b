"""The gate "the new skill is no worse than so many points", and intervals of means over tasks.

The percentile bootstrap of twenty tasks without a difference is [0, 0], which proves nothing: if a skill fails one
task in fifty, nine panels of 120 tasks in a hundred show no difference. So the bound comes from a Bayesian bootstrap
with one imaginary task added on which the new skill loses everything (Gaffke 2005). Where scores are 0 or 1 this is the
exact binomial bound; fractional scores need no other rule.

The other intervals are percentile bootstraps: whole tasks are drawn, the same ones for all rows that are compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skillsv.confirmation.scoring import Floats
from skillsv.errors import SettingsError
from skillsv.model.format import short_points
from skillsv.model.value import Interval

WORST = -1.0
"""The largest loss on a single task, since scores lie in [0, 1]."""

GATE_DRAWS = 20_000
"""Draws of the Bayesian bootstrap: its bound is a quantile far in the tail."""

DRAWS = 1000
"""Bootstrap samples of an interval."""

DEFAULT_MAX_DROP = 0.05
"""The loss that must be ruled out where the user names none: 5 points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What must be proved: a drop below `max_drop` (a share of 1), at confidence `level`."""

    max_drop: float = DEFAULT_MAX_DROP
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
        """The smallest panel that meets the gate where no score changes. Where scores rise, a smaller one can do."""
        return math.ceil(math.log(1 - self.level) / math.log(1 - self.max_drop) - 1e-9)


def smallest_drop(tasks: int, level: float) -> float:
    """The smallest drop that so many tasks rule out where no score changes."""
    return float(1 - (1 - level) ** (1 / tasks))


def lower_bound(differences: Floats, level: float, rng: np.random.Generator, *, draws: int = GATE_DRAWS) -> float:
    """The lower bound, at one-sided confidence `level`, of the mean difference new - old over tasks like these.

    A `level` above 0.999 needs more `draws`: they are made in batches.
    """
    if not differences.any():
        return -smallest_drop(len(differences), level)
    values, counts = np.unique(differences, return_counts=True)
    values, counts = np.append(values, WORST), np.append(counts, 1)
    # Dirichlet weights as normalised gamma draws; equal differences share one draw.
    batches = []
    for _ in range(0, draws, GATE_DRAWS):
        weights = rng.standard_gamma(counts.astype(np.float64), size=(GATE_DRAWS, len(counts)))
        batches.append((weights @ values) / weights.sum(axis=1))
    return float(np.quantile(np.concatenate(batches), 1 - level))


def bounded_interval(
    values: Floats, level: float, rng: np.random.Generator, *, bounds: tuple[float, float]
) -> tuple[float, float]:
    """The interval of a mean over tasks whose values lie within `bounds`: `worst_case` on both sides."""
    lowest, highest = bounds
    half, span = 1 - (1 - level) / 2, highest - lowest
    # Scaled to [-1, 0], where the worst value of either side is -1, and back.
    low = lower_bound((values - highest) / span, half, rng) * span + highest
    high = lowest - lower_bound((lowest - values) / span, half, rng) * span
    return low, high


def task_shares(tasks: int, draws: int, rng: np.random.Generator) -> Floats:
    """The share of each task in each bootstrap sample (a row) of as many tasks as there are."""
    counts = rng.multinomial(tasks, np.full(tasks, 1.0 / tasks), size=draws)
    return counts.astype(np.float64) / tasks


def resampled(values: Floats, shares: Floats) -> Floats:
    """The means of every row of `values` [rows, tasks] in every bootstrap sample: [draws, rows]."""
    means: Floats = shares @ np.atleast_2d(values).T
    return means


def intervals(values: Floats, level: float, rng: np.random.Generator, *, draws: int = DRAWS) -> list[Interval]:
    """Mean and percentile interval of every row of `values`. All rows share the same samples of tasks."""
    rows = np.atleast_2d(values)
    means = resampled(rows, task_shares(rows.shape[1], draws, rng))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    middle = rows.mean(axis=1)
    # The samples add in another order, so a quantile may differ from an equal mean in the last bit.
    return [
        Interval(value, min(lower, value), max(upper, value))
        for value, lower, upper in zip(middle.tolist(), low.tolist(), high.tolist(), strict=True)
    ]


def interval(values: Floats, level: float, rng: np.random.Generator, *, draws: int = DRAWS) -> Interval:
    """Mean and interval of one value per task."""
    return intervals(values, level, rng, draws=draws)[0]


def pooled(values: list[Floats], level: float, rng: np.random.Generator, *, draws: int = DRAWS) -> Interval:
    """The mean over skills of their means over tasks, with an interval. Tasks are drawn within each skill."""
    samples = pooled_samples(values, rng, draws=draws)
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(float(np.mean([skill.mean() for skill in values])), low, high)


def pooled_samples(values: list[Floats], rng: np.random.Generator, *, draws: int = DRAWS) -> Floats:
    """The mean over skills in every bootstrap sample; tasks are drawn within each skill."""
    samples = np.stack([resampled(skill, task_shares(len(skill), draws, rng))[:, 0] for skill in values])
    mean: Floats = samples.mean(axis=0)
    return mean
