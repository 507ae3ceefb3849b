"""The gate: a skill exactly at the limit passes at most once in twenty. And intervals of means over tasks."""

import math
from itertools import product

import numpy as np
import pytest

from skillsv.confirmation import Gate, interval, intervals, lower_bound, pooled, smallest_drop
from skillsv.confirmation.gate import bounded_interval, resampled, task_shares
from skillsv.errors import SettingsError

LEVEL = 0.95
SIZES = (30, 60, 120)


def planted_pairs(kind, size, drop, rng):
    """Differences new - old, task by task, whose mean over all tasks there are is exactly -drop."""
    if kind == "losses only":
        return -(rng.random(size) < drop).astype(float)
    if kind == "churn":  # many tasks change, a few more for the worse
        draws = rng.random(size)
        return (draws < 0.10).astype(float) - (draws > 0.90 - drop).astype(float)
    if kind == "replicates":  # means of three replicates; a task's chance falls in proportion, by `drop` on average
        chance = rng.random(size)
        return rng.binomial(3, chance * (1 - 2 * drop)) / 3 - rng.binomial(3, chance) / 3
    draws = rng.random(size)  # partial credit: half a task lost, or rarely a whole one
    return np.where(draws < drop, -0.5, 0.0) - (draws > 1 - drop / 2)


KINDS = ("losses only", "churn", "partial credit", "replicates")


def false_passes(kind, size, drop, repetitions=400):
    """The share of panels exactly at the limit that pass. Equal panels are computed once."""
    rng = np.random.default_rng([size, KINDS.index(kind), round(100 * drop)])
    verdicts = {}
    passed = 0
    for _ in range(repetitions):
        differences = np.sort(planted_pairs(kind, size, drop, rng))
        key = differences.tobytes()
        if key not in verdicts:
            verdicts[key] = lower_bound(differences, LEVEL, rng) >= -drop
        passed += verdicts[key]
    return passed / repetitions


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_at_the_limit_at_most_one_panel_in_twenty_passes(kind, size):
    assert false_passes(kind, size, 0.02) <= 0.05


@pytest.mark.heavy
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "losses only"])
@pytest.mark.parametrize("drop", [0.01, 0.05, 0.10])
def test_at_other_limits_at_most_one_panel_in_twenty_passes(kind, size, drop):
    assert false_passes(kind, size, drop) <= 0.05


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("drop", [0.01, 0.02, 0.05, 0.10])
def test_with_losses_only_the_exact_rate_is_at_most_one_in_twenty(size, drop):
    """Only the number of losses matters, so the rate is a finite sum; 60 tasks at 5 points are close: 0.95^60 = 4.6 %."""
    rng = np.random.default_rng(size)
    rate = 0.0
    for losses in range(size + 1):
        differences = np.concatenate([-np.ones(losses), np.zeros(size - losses)])
        if lower_bound(differences, LEVEL, rng) < -drop:
            break  # more losses pass even less
        rate += math.comb(size, losses) * drop**losses * (1 - drop) ** (size - losses)
    assert rate <= 0.05


def test_the_percentile_bootstrap_passes_far_more_often():
    """Why the gate is not the percentile bootstrap: with few losses its interval is too narrow."""
    rng = np.random.default_rng(0)
    passes = sum(
        interval(planted_pairs("losses only", 60, 0.02, rng), 0.9, rng, draws=200).low >= -0.02 for _ in range(200)
    )
    assert passes / 200 > 0.25


@pytest.mark.parametrize(("size", "drop", "power"), [(30, 0.10, 1.0), (60, 0.05, 1.0), (120, 0.05, 1.0)])
def test_an_edit_without_effect_passes_a_gate_that_its_panel_can_meet(size, drop, power):
    assert float(lower_bound(np.zeros(size), LEVEL, np.random.default_rng(0)) >= -drop) == power


def test_tasks_needed_is_the_smallest_panel_that_can_meet_the_gate():
    assert Gate(max_drop=0.02).tasks_needed() == 149
    assert smallest_drop(149, LEVEL) <= 0.02 < smallest_drop(148, LEVEL)


@pytest.mark.parametrize("losses", [0, 1, 3, 7])
def test_without_gains_the_bound_is_the_exact_binomial_bound(losses):
    from scipy.stats import beta

    size = 60
    differences = np.zeros(size)
    differences[:losses] = -1
    exact = beta.ppf(LEVEL, losses + 1, size - losses)
    assert lower_bound(differences, LEVEL, np.random.default_rng(1)) == pytest.approx(-exact, abs=0.003)


def test_gains_raise_the_bound_and_losses_lower_it():
    rng = np.random.default_rng(2)
    zero = np.zeros(60)
    better, worse = zero.copy(), zero.copy()
    better[:5], worse[:5] = 1, -1
    assert lower_bound(worse, LEVEL, rng) < lower_bound(zero, LEVEL, rng) < lower_bound(better, LEVEL, rng)


def test_two_sided_bounds_are_symmetric():
    values = np.array([-1.0] * 3 + [0.0] * 50 + [0.5] * 7)
    low, high = bounded_interval(values, LEVEL, np.random.default_rng(3), bounds=(-2, 2))
    other_low, other_high = bounded_interval(-values, LEVEL, np.random.default_rng(4), bounds=(-2, 2))
    assert low < values.mean() < high
    assert other_low == pytest.approx(-high, abs=0.004)
    assert other_high == pytest.approx(-low, abs=0.004)


def test_equal_values_still_have_an_interval_of_some_width():
    low, high = bounded_interval(np.ones(40), LEVEL, np.random.default_rng(5), bounds=(-1, 1))
    assert low == pytest.approx(1 - 2 * (1 - 0.025 ** (1 / 40)))
    assert high == pytest.approx(1, abs=1e-9) or math.isclose(high, 1)


@pytest.mark.parametrize("drop", [0, -0.1, 1, 2])
def test_a_gate_outside_its_range_is_refused(drop):
    with pytest.raises(SettingsError):
        Gate(max_drop=drop)


@pytest.mark.parametrize("level", [0.2, 1.0, 95.0])
def test_a_level_outside_its_range_is_refused(level):
    with pytest.raises(SettingsError):
        Gate(max_drop=0.02, level=level)


def test_task_shares_count_how_often_a_task_was_drawn():
    values, shares = np.array([[1.0, 2.0, 4.0]]), task_shares(3, 50, np.random.default_rng(0))
    for share, mean in zip(shares, resampled(values, shares)[:, 0], strict=True):
        drawn = np.repeat(values[0], np.round(share * 3).astype(int))
        assert len(drawn) == 3
        assert drawn.mean() == pytest.approx(mean)


def test_the_interval_approaches_that_of_all_possible_samples():
    values = np.array([0.0, 0.1, 0.5, 1.0])
    means = np.array([np.mean([values[place] for place in chosen]) for chosen in product(range(4), repeat=4)])
    estimate = interval(values, 0.8, np.random.default_rng(1), draws=40_000)
    assert estimate.value == pytest.approx(values.mean())
    # The distribution has steps: a quantile may fall on either side of one.
    assert np.quantile(means, 0.09) <= estimate.low <= np.quantile(means, 0.11)
    assert np.quantile(means, 0.89) <= estimate.high <= np.quantile(means, 0.91)


def test_all_rows_share_the_same_samples_of_tasks():
    """The difference of two rows varies as little as pairing allows: here not at all."""
    hard = np.random.default_rng(2).random(40)
    rows = np.stack([hard, hard + 0.25])
    means = resampled(rows, task_shares(40, 500, np.random.default_rng(3)))
    assert np.ptp(means[:, 1] - means[:, 0]) < 1e-12
    assert np.ptp(means[:, 0]) > 0.05


def test_equal_scores_have_an_interval_of_no_width():
    (estimate,) = intervals(np.full((1, 7), 0.3), 0.95, np.random.default_rng(4))
    assert estimate.low == pytest.approx(0.3)
    assert estimate.high == pytest.approx(0.3)
    assert estimate.low <= estimate.value <= estimate.high


def test_pooling_weighs_skills_equally_and_narrows_the_interval():
    rng = np.random.default_rng(5)
    parts = [rng.normal(0.1, 0.3, size) for size in (30, 60, 90, 120)]
    together = pooled(parts, 0.95, rng)
    assert together.value == pytest.approx(np.mean([part.mean() for part in parts]))
    alone = interval(parts[0], 0.95, rng)
    assert together.high - together.low < alone.high - alone.low
