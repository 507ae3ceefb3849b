"""Widened intervals, the bootstrap, the reporting resolution, and kinds of evidence."""

import numpy as np
import pytest

from skillsv.estimate.intervals import (
    COARSEST,
    FINEST,
    bootstrap_interval,
    evidence_of,
    reporting_resolution,
    truncation_variance,
    widened_interval,
)
from skillsv.model.value import Evidence, Interval


def answers(change, window=8):
    return np.full(change.shape[1], change.shape[0] * window)


def test_a_unit_without_any_change_has_an_interval_of_some_width():
    still = np.zeros((12, 1))
    means = widened_interval(still, answers(still), level=0.95)
    assert means.low[0] < 0 < means.high[0]
    low, high = bootstrap_interval(still, level=0.95, replicates=1000, rng=np.random.default_rng(0))
    assert (low[0], high[0]) == (0.0, 0.0)


def test_the_interval_uses_students_t_quantile():
    change = np.random.default_rng(1).normal(0.2, 0.1, size=(6, 1))
    means = widened_interval(change, np.array([10**9]), level=0.95)
    mean, error = change.mean(), change.std(ddof=1) / 6**0.5
    assert means.high[0] - mean == pytest.approx(2.570581836 * error, rel=1e-6)


def test_intervals_stay_within_the_bounds():
    change = np.array([[1.0], [-1.0]])
    means = widened_interval(change, answers(change), level=0.99)
    assert (means.low[0], means.high[0]) == (-1.0, 1.0)


def test_the_bootstrap_has_the_width_of_a_mean_over_chains():
    rng = np.random.default_rng(2)
    change = rng.normal(size=(40, 3))
    low, high = bootstrap_interval(change, level=0.95, replicates=4000, rng=rng)
    error = change.std(axis=0) / 40**0.5
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(np.ones(3), abs=0.08)


def test_the_bootstrap_leaves_out_missing_entries():
    change = np.array([[1.0, 0.5], [np.nan, 0.5], [1.0, 0.5]])
    low, high = bootstrap_interval(change, level=0.95, replicates=500, rng=np.random.default_rng(0))
    assert low == pytest.approx([1.0, 0.5])
    assert high == pytest.approx([1.0, 0.5])


def test_truncation_variance_follows_the_evaluated_mean():
    steady, unsteady, complete = [0.4, 0.4, 0.0, 0.0], [0.8, 0.0, 0.0, 0.0], [0.4, 0.4, 0.4, 0.4]
    evaluated = np.array([[True, True, True], [True, True, True], [False, False, True], [False, False, True]])
    variance = truncation_variance(np.array([steady, unsteady, complete]).T, evaluated)
    assert variance[0] == pytest.approx((0.75 * 0.5 * 0.4) ** 2)
    assert variance[1] == 0.0  # a mean of 0.4 with a standard error of 0.4 shows nothing
    assert variance[2] == 0.0  # nothing was truncated


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        (-0.009, 0.009, Evidence.NEGLIGIBLE),
        (0.001, 0.009, Evidence.NEGLIGIBLE),
        (0.001, 0.02, Evidence.POSITIVE),
        (-0.02, -0.001, Evidence.NEGATIVE),
        (-0.02, 0.009, Evidence.UNRESOLVED),
        (-0.009, 0.02, Evidence.UNRESOLVED),
    ],
)
def test_each_interval_gives_one_kind_of_evidence(low, high, kind):
    net = Interval((low + high) / 2, low, high)
    assert evidence_of(net, resolution=0.01, tested=True, identical=False) is kind
    assert evidence_of(net, resolution=0.01, tested=False, identical=False) is Evidence.UNRESOLVED
    assert evidence_of(net, resolution=0.01, tested=False, identical=True) is Evidence.IDENTICAL


def test_the_resolution_lies_between_one_and_three_points():
    assert reporting_resolution(8) == COARSEST
    assert reporting_resolution(150) == pytest.approx(0.02)
    assert reporting_resolution(100_000) == FINEST


@pytest.mark.parametrize(("tasks", "points"), [(20, 2.5), (40, 1.25), (80, 1.0), (10, 3.0)])
def test_the_resolution_follows_the_number_of_tasks(tasks, points):
    assert reporting_resolution(100_000, tasks) == pytest.approx(points / 100)
