"""Intervals of means over tasks: whole tasks are drawn again, the same ones for everything that is compared."""

from __future__ import annotations

import numpy as np

from skillsv.confirm.scoring import Floats
from skillsv.model.value import Interval

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
