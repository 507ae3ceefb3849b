from itertools import product

import numpy as np
import pytest

from skillsv.confirm import interval, intervals, pooled
from skillsv.confirm.gate import resampled, task_shares


def test_a_share_is_how_often_a_task_was_drawn():
    values, shares = np.array([[1.0, 2.0, 4.0]]), task_shares(3, 50, np.random.default_rng(0))
    for share, mean in zip(shares, resampled(values, shares)[:, 0], strict=True):
        drawn = np.repeat(values[0], np.round(share * 3).astype(int))
        assert len(drawn) == 3
        assert drawn.mean() == pytest.approx(mean)


def test_the_interval_is_that_of_all_possible_samples():
    values = np.array([0.0, 0.1, 0.5, 1.0])
    every = np.array([np.mean([values[place] for place in chosen]) for chosen in product(range(4), repeat=4)])
    found = interval(values, 0.8, np.random.default_rng(1), draws=40_000)
    assert found.value == pytest.approx(values.mean())
    # The distribution has steps: a quantile may fall on either side of one.
    assert np.quantile(every, 0.09) <= found.low <= np.quantile(every, 0.11)
    assert np.quantile(every, 0.89) <= found.high <= np.quantile(every, 0.91)


def test_rows_are_resampled_together():
    """The difference of two rows is as narrow as pairing makes it: here it does not vary at all."""
    hard = np.random.default_rng(2).random(40)
    rows = np.stack([hard, hard + 0.25])
    means = resampled(rows, task_shares(40, 500, np.random.default_rng(3)))
    assert np.ptp(means[:, 1] - means[:, 0]) < 1e-12
    assert np.ptp(means[:, 0]) > 0.05


def test_scores_that_are_all_alike_have_an_interval_of_no_width():
    (found,) = intervals(np.full((1, 7), 0.3), 0.95, np.random.default_rng(4))
    assert found.low == pytest.approx(0.3)
    assert found.high == pytest.approx(0.3)
    assert found.low <= found.value <= found.high


def test_pooling_weighs_skills_alike_and_narrows():
    rng = np.random.default_rng(5)
    parts = [rng.normal(0.1, 0.3, size) for size in (30, 60, 90, 120)]
    together = pooled(parts, 0.95, rng)
    assert together.value == pytest.approx(np.mean([part.mean() for part in parts]))
    alone = interval(parts[0], 0.95, rng)
    assert together.high - together.low < alone.high - alone.low
