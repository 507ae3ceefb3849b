"""Intervals and kinds of evidence, one rule at a time."""

import numpy as np
import pytest

from skillsv.estimate.intervals import (
    COARSEST,
    FINEST,
    bootstrap_interval,
    evidence_of,
    honest_interval,
    reporting_resolution,
    truncation_variance,
)
from skillsv.estimate.shared_noise import SharedNoise, noise_variance
from skillsv.model.coalition import Operator
from skillsv.model.value import Evidence, Interval


def answers(change, window=8):
    return np.full(change.shape[1], change.shape[0] * window)


def test_a_unit_with_no_jump_seen_is_not_a_point():
    still = np.zeros((12, 1))
    spread = honest_interval(still, answers(still), level=0.95)
    assert spread.low[0] < 0 < spread.high[0]
    low, high = bootstrap_interval(still, level=0.95, replicates=1000, rng=np.random.default_rng(0))
    assert (low[0], high[0]) == (0.0, 0.0)


def test_the_interval_is_students_with_few_chains():
    change = np.random.default_rng(1).normal(0.2, 0.1, size=(6, 1))
    spread = honest_interval(change, np.array([10**9]), level=0.95)
    mean, error = change.mean(), change.std(ddof=1) / 6**0.5
    assert spread.high[0] - mean == pytest.approx(2.570581836 * error, rel=1e-6)


def test_bounds_are_kept():
    change = np.array([[1.0], [-1.0]])
    spread = honest_interval(change, answers(change), level=0.99)
    assert (spread.low[0], spread.high[0]) == (-1.0, 1.0)


def test_the_bootstrap_is_that_of_chain_means():
    rng = np.random.default_rng(2)
    change = rng.normal(size=(40, 3))
    low, high = bootstrap_interval(change, level=0.95, replicates=4000, rng=rng)
    error = change.std(axis=0) / 40**0.5
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(np.ones(3), abs=0.08)


def test_the_bootstrap_leaves_missing_entries_out():
    change = np.array([[1.0, 0.5], [np.nan, 0.5], [1.0, 0.5]])
    low, high = bootstrap_interval(change, level=0.95, replicates=500, rng=np.random.default_rng(0))
    assert low == pytest.approx([1.0, 0.5])
    assert high == pytest.approx([1.0, 0.5])


def test_truncation_widens_by_what_was_surely_seen():
    steady, shaky, whole = [0.4, 0.4, 0.0, 0.0], [0.8, 0.0, 0.0, 0.0], [0.4, 0.4, 0.4, 0.4]
    evaluated = np.array([[True, True, True], [True, True, True], [False, False, True], [False, False, True]])
    variance = truncation_variance(np.array([steady, shaky, whole]).T, evaluated)
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
def test_kinds_of_evidence_are_never_mixed(low, high, kind):
    net = Interval((low + high) / 2, low, high)
    assert evidence_of(net, resolution=0.01, tested=True, identical=False) is kind
    assert evidence_of(net, resolution=0.01, tested=False, identical=False) is Evidence.UNRESOLVED
    assert evidence_of(net, resolution=0.01, tested=False, identical=True) is Evidence.IDENTICAL


def test_the_resolution_follows_the_answers_between_one_and_three_points():
    assert reporting_resolution(8) == COARSEST
    assert reporting_resolution(150) == pytest.approx(0.02)
    assert reporting_resolution(100_000) == FINEST


def test_noise_is_told_from_neighbouring_differences(make_skill, make_chain, make_order):
    compiled, rng = make_skill(tuple("abcdefghij")), np.random.default_rng(3)
    tasks = tuple(f"t{number}" for number in range(8))
    still = [make_chain(k, make_order(compiled, rng), tasks, lambda kept, *_: float("c" in kept)) for k in range(30)]
    coin = [make_chain(k, make_order(compiled, rng), tasks, lambda *_: float(rng.random() < 0.2)) for k in range(30)]
    assert noise_variance(still, Operator.DELETE) == 0.0
    assert noise_variance(coin, Operator.DELETE) == pytest.approx(0.16, abs=0.02)


def test_shared_prompts_add_variance_only_for_a_noisy_agent(make_skill, make_chain):
    compiled, rng = make_skill(("a", "b", "c")), np.random.default_rng(3)
    luck: dict[object, float] = {}

    def game(kept, task, operator):
        return luck.setdefault((kept, task), float(rng.random() < 0.5))

    orders = [("m", "a", "b", "c")] * 2
    same = [make_chain(k, order, ("t0", "t1"), game) for k, order in enumerate(orders)]
    other = [same[0], make_chain(1, orders[1], ("t2", "t3"), game)]
    shared, apart = (SharedNoise(compiled, records, Operator.DELETE) for records in (same, other))
    shared.noise = apart.noise = 0.25
    # Two chains score the same two prompts on both sides: 2 tasks * 2 ordered pairs * 2 sides over (2 * 2)^2 answers.
    assert shared.per_unit() == pytest.approx([0.25 * 8 / 16] * 3)
    assert shared.variance(np.array([True, True, True])) == pytest.approx(0.25 * 8 / 16)
    assert apart.per_unit() == pytest.approx([0.0] * 3)
    assert shared.of_anchors() == pytest.approx(0.25 * 4 / 16)
