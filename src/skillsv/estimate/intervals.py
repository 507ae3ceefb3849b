"""Confidence intervals of chain estimates: the widened t interval for verdicts, and the paper's bootstrap beside it.

The bootstrap of few chains is too narrow: a unit whose effect appeared in no chain gets the point [0, 0].
The widened interval is Student's t interval for K chains with

    variance = variance between chains / K
             + (2/3 of an answer)^2       one answer moves a mean over K windows of b tasks by 1/(bK), and an effect
                                          may have appeared in no chain
             + (3/4 share |mean|)^2       truncated marginals count as zero, but may be like the evaluated ones
             + shared noise               noise of prompts that several chains share (shared_noise.py)

The factors 2/3 and 3/4 were chosen by coverage on planted games and checked on other planted games.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillsv.estimate.marginals import Floats
from skillsv.model.value import Evidence, Interval

UNSEEN = 2 / 3
"""Size of an effect that appeared in no chain, in answers: 1 covers more often than the level, 1/2 less often."""

LIKE_EVALUATED = 3 / 4
"""Standard error of truncated marginals, as a share of the mean of the evaluated ones."""

FINEST = 0.01
"""Finest reporting resolution, as a share of the score: nobody acts on less than one point."""

COARSEST = 0.03
"""Coarsest reporting resolution, as a share of the score: more than three points are never negligible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainMeans:
    """Means over chains with their intervals, one entry per column."""

    mean: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    samples: npt.NDArray[np.int64]


def widened_interval(
    change: Floats,
    answers: npt.NDArray[np.int64],
    *,
    level: float,
    bounds: tuple[float, float] = (-1.0, 1.0),
    extra: Floats | float = 0.0,
) -> ChainMeans:
    """Student's t interval around the mean of K chains, one per column, widened by what the chains cannot show.

    The mean is phi hat (Eq. 4). `change` is [K, n] with NaN where a chain has no marginal, `answers` the number of
    answers behind each column (bK when none is missing), `extra` further variance of the mean. With fewer than two
    chains the interval is `bounds`, the possible range.
    """
    present = ~np.isnan(change)
    samples = present.sum(axis=0)
    mean = np.where(present, change, 0.0).sum(axis=0) / np.maximum(samples, 1)
    squares = (np.where(present, change - mean, 0.0) ** 2).sum(axis=0)
    freedom = np.maximum(samples - 1, 1)
    error = np.sqrt(squares / freedom / np.maximum(samples, 1))
    half = _t_quantile(level, freedom) * np.sqrt(error**2 + (UNSEEN / np.maximum(answers, 1)) ** 2 + extra)
    low, high = np.clip(mean - half, *bounds), np.clip(mean + half, *bounds)
    known = samples > 1
    return ChainMeans(
        mean=mean,
        low=np.where(known, low, bounds[0]),
        high=np.where(known, high, bounds[1]),
        standard_error=np.where(known, error, (bounds[1] - bounds[0]) / 2),
        samples=samples,
    )


def truncation_variance(change: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
    """Variance per unit for marginals that truncation set to zero without running them.

    The square of a noisy mean is too large by the mean's own variance, so this variance is subtracted.
    """
    count = np.maximum(evaluated.sum(axis=0), 1)
    known = np.where(evaluated, np.nan_to_num(change), 0.0)
    mean = known.sum(axis=0) / count
    squares = np.where(evaluated, (known - mean) ** 2, 0.0).sum(axis=0)
    square = np.maximum(mean**2 - squares / np.maximum(count - 1, 1) / count, 0.0)
    skipped = 1.0 - (evaluated | np.isnan(change)).mean(axis=0)
    variance: Floats = (LIKE_EVALUATED * skipped) ** 2 * square
    return variance


def _t_quantile(level: float, freedom: npt.NDArray[np.int64]) -> Floats:
    """The two-sided quantile of Student's t for each number of degrees of freedom."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    quantile: Floats = np.asarray(stdtrit(freedom, 0.5 + level / 2), dtype=np.float64)
    return quantile


def bootstrap_interval(
    change: Floats, *, level: float, replicates: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The paper's percentile bootstrap: resample complete chains with replacement, all units together.

    Not `scipy.stats.bootstrap`: it has no missing entries, and importing `scipy.stats` delays every run.
    """
    chains = change.shape[0]
    weights = rng.multinomial(chains, np.full(chains, 1.0 / chains), size=replicates).astype(np.float64)
    present = ~np.isnan(change)
    sums = weights @ np.where(present, change, 0.0)
    if present.all():
        means = sums / chains
    else:
        means = np.full(sums.shape, np.nan)
        np.divide(sums, weights @ present, out=means, where=(weights @ present) > 0)
        means = np.where(np.isnan(means), np.nan_to_num(np.nanmean(means, axis=0)), means)
    low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return low, high


def reporting_resolution(answers: int, tasks: int | None = None) -> float:
    """The size below which a net effect counts as about zero, unless the user sets it.

    Zero events in bK answers leave a rate of up to 3/(bK) possible (the rule of three), so a run cannot report a finer
    resolution. On a panel of so many `tasks` (None: not considered) a unit that decides one task is worth up to
    1/tasks: half of that is the finest difference. The result stays between `FINEST` and `COARSEST`.
    """
    half_a_task = 0.0 if tasks is None else 0.5 / max(tasks, 1)
    return min(max(3.0 / max(answers, 1), half_a_task, FINEST), COARSEST)


NOISY_ANSWERS = 16
"""Answers of a noisy agent that are worth one of an agent that repeats itself, for the reporting resolution."""


def evidence_of(net: Interval, *, resolution: float, tested: bool, identical: bool, idle: bool = False) -> Evidence:
    """What the interval of a net effect shows. A unit that was never tested is unresolved, whatever its value.

    `idle`: no score changed with the unit.
    """
    if identical:
        return Evidence.IDENTICAL
    if not tested:
        return Evidence.UNRESOLVED
    if -resolution <= net.low and net.high <= resolution:
        return Evidence.IDLE if idle else Evidence.NEGLIGIBLE
    if net.low > 0:
        return Evidence.POSITIVE
    return Evidence.NEGATIVE if net.high < 0 else Evidence.UNRESOLVED
