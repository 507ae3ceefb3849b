"""Two scopes of a net effect: these tasks, and tasks like these."""

import numpy as np
import pytest

from skillsv.estimate.scopes import sampling_variance


def test_the_variance_is_that_of_a_mean_over_drawn_tasks():
    values = np.random.default_rng(1).normal(0.1, 0.5, (400, 3))
    assert sampling_variance(values) == pytest.approx(values.var(axis=0, ddof=1) / 400, rel=0.02)


def test_differences_between_strata_do_not_count():
    values = np.repeat([0.0, 1.0], 50)[:, None] + np.random.default_rng(2).normal(0, 0.1, (100, 1))
    strata = ["a"] * 50 + ["b"] * 50
    assert sampling_variance(values, strata)[0] < 0.2 * sampling_variance(values)[0]


def test_a_unit_that_changed_nothing_is_not_certain_on_new_tasks():
    values = np.zeros((20, 2))
    values[:4, 0] = 1.0
    error = np.sqrt(sampling_variance(values))
    assert 0.005 < error[1] < error[0]


def test_strata_of_one_task_count_together():
    values = np.random.default_rng(3).normal(0, 0.5, (30, 2))
    assert sampling_variance(values, [str(number) for number in range(30)]) == pytest.approx(sampling_variance(values))
