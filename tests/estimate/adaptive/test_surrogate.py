import numpy as np
import pytest

from skillsv.estimate.adaptive.observations import ScoredCoalitions
from skillsv.estimate.adaptive.shared_scale import average_over_scales, free_directions
from skillsv.estimate.adaptive.surrogate import OrderPrefixes, fit_surrogate

TASKS, UNITS = 30, 6
TRUE = np.array([2.0, -2.0, 0.0, 0.0, 0.0, 1.0])


def chance(logit):
    return 1 / (1 + np.exp(-logit))


def additive(rows, seed):
    rng = np.random.default_rng(seed)
    level = rng.normal(0, 1, TASKS)
    present = rng.random((rows, UNITS)) < 0.5
    task = rng.integers(TASKS, size=rows)
    score = (rng.random(rows) < chance(level[task] + (present - 0.5) @ TRUE)).astype(float)
    return ScoredCoalitions(present=present, task=task, score=score), level


def places(count, seed=0):
    rng = np.random.default_rng(seed)
    return np.argsort([rng.permutation(UNITS) for _ in range(count)], axis=1)


def test_the_fit_recovers_an_additive_game_from_noisy_scores():
    scored, level = additive(6000, 1)
    fit = fit_surrogate(scored, TASKS)
    assert fit.shared[1:] == pytest.approx(TRUE, abs=0.35)
    prefixes = OrderPrefixes(places(200))
    truth = prefixes.effects(np.column_stack([level, np.tile(TRUE, (TASKS, 1))]))
    assert prefixes.effects(fit.weights) == pytest.approx(truth, abs=0.03)


def test_a_unit_with_an_effect_on_one_task_keeps_its_weight_there():
    rng = np.random.default_rng(3)
    present, task = rng.random((3000, UNITS)) < 0.5, rng.integers(TASKS, size=3000)
    logit = np.where(task == 4, 6.0 * (present[:, 2] - 0.5), -1.0)
    scored = ScoredCoalitions(present=present, task=task, score=(rng.random(3000) < chance(logit)).astype(float))
    weights = fit_surrogate(scored, TASKS).weights[:, 3]
    assert weights[4] > 4.5
    assert np.abs(np.delete(weights, 4)).max() < 0.25 * weights[4]


def test_effects_add_up_to_the_difference_of_the_anchors():
    weights = np.random.default_rng(0).normal(size=(TASKS, UNITS + 1))
    ends = chance(weights[:, 0] + 0.5 * weights[:, 1:].sum(axis=1)) - chance(
        weights[:, 0] - 0.5 * weights[:, 1:].sum(axis=1)
    )
    assert OrderPrefixes(places(15)).effects(weights).sum() == pytest.approx(ends.mean(), abs=1e-5)


def test_the_fit_measures_the_noise_of_scores():
    scored, _ = additive(3000, 5)
    noisy = fit_surrogate(scored, TASKS).noise
    deterministic = fit_surrogate(
        ScoredCoalitions(present=scored.present, task=scored.task, score=scored.present[:, 0].astype(float)), TASKS
    ).noise
    assert deterministic < 0.05 < noisy


def test_the_scale_of_the_shared_weights_does_not_collapse():
    """Few scores say little about how much units differ: the spread of their weights must stay open."""
    mean, covariance = average_over_scales(np.diag([50.0, 2.0, 2.0, 2.0, 2.0]), np.array([0.0, 0.1, -0.1, 0.05, -0.05]))
    assert np.all(np.sqrt(np.diag(covariance)[1:]) > 0.1)
    assert np.all(np.abs(mean[1:]) < 0.2)


def test_many_scores_decide_the_scale():
    weights = np.array([0.0, 1.0, -1.0, 0.5, -0.5])
    information = np.diag([1e4] * 5)
    mean, covariance = average_over_scales(information, information @ weights)
    assert mean == pytest.approx(weights, abs=0.01)
    assert np.sqrt(np.diag(covariance)) == pytest.approx(0.01, rel=0.1)


def test_graded_scores_count_more_than_passes_and_failures():
    rng = np.random.default_rng(4)
    present = rng.random((600, 6)) < 0.5
    chance = 1.0 / (1.0 + np.exp(-(present - 0.5) @ np.array([1.5, 0.8, 0.4, 0.0, 0.0, -0.8])))
    task = np.arange(600) % 10
    graded = ScoredCoalitions(present=present, task=task, score=rng.binomial(10, chance) / 10)
    passed = ScoredCoalitions(present=present, task=task, score=(rng.random(600) < chance).astype(float))
    errors = [np.sqrt(np.diag(fit_surrogate(scored, 10).shared_covariance)[1:]).mean() for scored in (graded, passed)]
    assert errors[0] < 0.6 * errors[1]


def test_free_directions_leave_out_what_says_nothing_new():
    assert free_directions(5).shape == (5, 1)
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    prior = np.array([values, 2 * values, np.ones(5), np.zeros(5)])
    found = free_directions(5, prior)
    assert found.shape == (5, 2)
    assert found.T @ found == pytest.approx(np.eye(2))
