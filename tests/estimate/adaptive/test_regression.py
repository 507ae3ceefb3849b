"""What the scores leave open without a model: honest whatever the scores depend on."""

import numpy as np
import pytest

from skillsv.estimate.adaptive.observations import ScoredCoalitions
from skillsv.estimate.adaptive.regression import _posterior_variance, _regress, unexplained_variance


def draw(seed, rows, effects, tasks=20):
    rng = np.random.default_rng(seed)
    present = rng.random((rows, len(effects))) < 0.5
    task = rng.integers(tasks, size=rows)
    level = np.linspace(0.2, 0.6, tasks)
    chance = np.clip(level[task] + (present - 0.5) @ effects, 0.02, 0.98)
    return ScoredCoalitions(present=present, task=task, score=(rng.random(rows) < chance).astype(float))


def left_open(scored, predicted=0.4):
    by_model = np.full(scored.present.shape[1], 1e-5)
    return unexplained_variance(scored, 20, np.broadcast_to(predicted, scored.score.shape), by_model)


def test_effects_are_right_within_their_standard_errors():
    effects = np.array([0.3, 0.1, 0.0, 0.0, -0.2, 0.0, 0.05, 0.0])
    distances = []
    for seed in range(20):
        found, covariance = _regress(draw(seed, 600, effects), 20)
        distances.append((found - effects) / np.sqrt(np.diag(covariance)))
    assert np.sqrt(np.mean(np.square(distances))) == pytest.approx(1.0, abs=0.15)


def test_more_rollouts_leave_less_open():
    effects = np.array([0.3, 0.1, 0.0, 0.0, -0.2, 0.0, 0.05, 0.0])
    few, many = (np.sqrt(left_open(draw(1, rows, effects))).mean() for rows in (200, 3200))
    assert few > 2.5 * many > 0.01


def test_units_that_never_change_leave_their_effects_open():
    scored = draw(2, 60, np.full(4, 0.1))
    scored.present[:, 3] = scored.present[:, 2]
    assert np.all(np.isfinite(left_open(scored)))


def test_a_model_whose_residuals_show_no_effect_leaves_less_open():
    effects = np.array([0.3, 0.1, 0.0, 0.0, -0.2, 0.0, 0.05, 0.0] * 3)
    scored = draw(3, 2000, effects / 2)
    right = np.linspace(0.2, 0.6, 20)[scored.task] + (scored.present - 0.5) @ (effects / 2)
    assert np.all(left_open(scored, right) < 0.9 * left_open(scored))


def test_values_of_an_agent_alike_leave_less_open():
    effects = np.array([0.3, 0.1, 0.0, 0.0, -0.2, 0.0, 0.05, 0.0])
    found, covariance = _regress(draw(5, 300, effects), 20)
    alone, alike, other = (
        _posterior_variance(found, covariance, prior).mean()
        for prior in (None, effects[None, :], np.roll(effects, 3)[None, :])
    )
    assert alike < 0.8 * alone
    assert other > 0.9 * alone
