"""Intervals: the honest one that verdicts rest on, and the paper's bootstrap of complete chains beside it.

The plain bootstrap of few chains is too narrow: a unit whose jump was not seen in any chain gets the point [0, 0].
The honest interval is Student's t for K chains around

    variance = spread between chains / K
             + (2/3 of an answer)^2       a mean over K windows of b tasks moves by 1/(bK); a jump may be unseen
             + (3/4 share |seen|)^2       truncated marginals count as zero, but may be like those that were seen
             + shared luck                noise of prompts that several chains share (luck.py)

The factors 2/3 and 3/4 were chosen by coverage on planted games and checked on games not used for choosing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillsv.estimate.marginals import Floats
from skillsv.model.value import Evidence, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Means over chains, column by column, with what is known about their precision."""

    mean: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    samples: npt.NDArray[np.int64]


UNSEEN = 2 / 3
"""Answers that an unseen jump is taken to be worth: one would cover more than was asked for, one half less."""

LIKE_SEEN = 3 / 4
"""How far truncated marginals may be like those that were seen, as one standard error."""


def honest_interval(
    change: Floats,
    answers: npt.NDArray[np.int64],
    *,
    level: float,
    bounds: tuple[float, float] = (-1.0, 1.0),
    extra: Floats | float = 0.0,
) -> Spread:
    """Student's t interval around the mean of K chains, column by column, with what the chains cannot show added.

    `change` is [K, n] with NaN where a chain says nothing, `answers` the tasks behind each column (bK when nothing is
    missing), `extra` further variance of the mean. Fewer than two chains bound nothing: the interval is then `bounds`,
    the logical range.
    """
    present = ~np.isnan(change)
    samples = present.sum(axis=0)
    mean = np.where(present, change, 0.0).sum(axis=0) / np.maximum(samples, 1)
    squares = (np.where(present, change - mean, 0.0) ** 2).sum(axis=0)
    freedom = np.maximum(samples - 1, 1)
    error = np.sqrt(squares / freedom / np.maximum(samples, 1))
    half = _student(level, freedom) * np.sqrt(error**2 + (UNSEEN / np.maximum(answers, 1)) ** 2 + extra)
    low, high = np.clip(mean - half, *bounds), np.clip(mean + half, *bounds)
    known = samples > 1
    return Spread(
        mean=mean,
        low=np.where(known, low, bounds[0]),
        high=np.where(known, high, bounds[1]),
        standard_error=np.where(known, error, (bounds[1] - bounds[0]) / 2),
        samples=samples,
    )


def truncation_variance(change: Floats, evaluated: npt.NDArray[np.bool_]) -> Floats:
    """Allowance per unit for marginals that truncation set to zero without running them.

    The square of a noisy mean is too large by the mean's own variance, so that is taken off.
    """
    seen = np.maximum(evaluated.sum(axis=0), 1)
    known = np.where(evaluated, np.nan_to_num(change), 0.0)
    mean = known.sum(axis=0) / seen
    squares = np.where(evaluated, (known - mean) ** 2, 0.0).sum(axis=0)
    square = np.maximum(mean**2 - squares / np.maximum(seen - 1, 1) / seen, 0.0)
    skipped = 1.0 - (evaluated | np.isnan(change)).mean(axis=0)
    variance: Floats = (LIKE_SEEN * skipped) ** 2 * square
    return variance


def _student(level: float, freedom: npt.NDArray[np.int64]) -> Floats:
    """The two-sided quantile of Student's t, looked up once per distinct number of chains."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    quantile: Floats = np.asarray(stdtrit(freedom, 0.5 + level / 2), dtype=np.float64)
    return quantile


def bootstrap_interval(
    change: Floats, *, level: float, replicates: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The paper's percentile bootstrap: complete chains resampled with replacement, all units together."""
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


# What an interval shows about a unit: five kinds that are never mixed.

FINEST, COARSEST = 0.01, 0.03


def reporting_resolution(answers: int) -> float:
    """The size below which a net effect counts as about zero, unless the user sets it.

    One answer in all windows moves a value by 1/(bK), and zero events in bK tries leave up to 3/(bK) open (the rule of
    three), so a run cannot report finer than that. Finer than one point nobody acts on; coarser than three points must
    not be called negligible, however small the run.
    """
    return min(max(3.0 / max(answers, 1), FINEST), COARSEST)


def evidence_of(net: Interval, *, resolution: float, tested: bool, identical: bool) -> Evidence:
    """The kind of evidence. A unit that no chain ever tested is unresolved, whatever its number says."""
    if identical:
        return Evidence.IDENTICAL
    if not tested:
        return Evidence.UNRESOLVED
    if -resolution <= net.low and net.high <= resolution:
        return Evidence.NEGLIGIBLE
    if net.low > 0:
        return Evidence.POSITIVE
    return Evidence.NEGATIVE if net.high < 0 else Evidence.UNRESOLVED
