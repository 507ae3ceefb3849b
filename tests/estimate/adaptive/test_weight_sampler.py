from dataclasses import replace

import numpy as np
import pytest

from skillsv.estimate.adaptive.observations import ScoredCoalitions
from skillsv.estimate.adaptive.surrogate import OrderPrefixes, fit_surrogate
from skillsv.estimate.adaptive.unit_groups import GROUPS, UnitGroups
from skillsv.estimate.adaptive.weight_sampler import (
    ScoreCurves,
    _Chains,
    _draw_polya_gamma,
    mean_scores,
    sample_curves,
    sample_weights,
)

TASKS, UNITS = 30, 16
SHARED = np.zeros(UNITS)
SHARED[:4] = [2.5, 2.5, -2.0, 2.0]


def chance(logit):
    return 1 / (1 + np.exp(-logit))


def scores(rows, seed, weights=None, *, graded=False):
    """Random coalitions of an agent whose units add up on the logit scale; four of sixteen units have an effect."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0, 1, TASKS)
    weights = np.tile(SHARED, (TASKS, 1)) if weights is None else weights
    present, task = rng.random((rows, UNITS)) < 0.5, rng.integers(TASKS, size=rows)
    mean = chance(level[task] + np.einsum("ij,ij->i", present - 0.5, weights[task]))
    score = rng.binomial(10, mean) / 10 if graded else (rng.random(rows) < mean).astype(float)
    return ScoredCoalitions(present=present, task=task, score=score), np.column_stack([level, weights])


def draw(scored, seed=0, prior=None):
    return sample_weights(scored, TASKS, np.random.default_rng(seed), prior)


def prefixes():
    rng = np.random.default_rng(0)
    return OrderPrefixes(np.argsort([rng.permutation(UNITS) for _ in range(30)], axis=1))


@pytest.mark.heavy
def test_units_that_act_on_some_tasks_are_pulled_to_zero_less_than_by_one_normal_prior():
    slopes, errors = np.zeros((3, 2)), np.zeros((3, 2))
    values = prefixes().effects
    for seed in range(3):
        rng = np.random.default_rng([seed, 1])
        scored, true = scores(500, seed, np.where(rng.random((TASKS, UNITS)) < 0.3, 2.0 * SHARED, 0.0))
        truth = values(true)
        sampled = np.mean([values(weights) for weights in draw(scored)], axis=0)
        for place, found in enumerate((sampled, values(fit_surrogate(scored, TASKS).weights))):
            slopes[seed, place] = found @ truth / (truth @ truth)
            errors[seed, place] = np.sqrt(np.mean((found - truth) ** 2))
    sampler, surrogate = slopes.mean(axis=0)
    assert sampler > surrogate + 0.05
    assert errors[:, 0].mean() < 0.85 * errors[:, 1].mean()


def test_units_without_effect_are_dead_in_most_draws_and_large_ones_in_none():
    weights = draw(scores(1500, 1)[0])
    dead = (weights[:, :, 1:] == 0.0).all(axis=1).mean(axis=0)
    assert dead[:4].max() == 0.0
    assert np.median(dead[4:]) > 0.5


def test_a_unit_with_an_effect_on_a_few_tasks_acts_on_those():
    true = np.tile(SHARED, (TASKS, 1))
    true[:, 5] = np.where(np.arange(TASKS) < 5, 5.0, 0.0)
    acts = (draw(scores(3000, 2, true)[0])[:, :, 6] != 0.0).mean(axis=0)
    assert acts[:5].min() > 0.8
    assert acts[5:].mean() < 0.2


def test_units_act_on_new_tasks_as_often_as_on_scored_ones():
    true = np.tile(SHARED, (TASKS, 1))
    true[:, 5] = np.where(np.arange(TASKS) < TASKS // 3, 5.0, 0.0)
    scored = scores(3000, 2, true)[0]
    weights = sample_weights(scored, TASKS, np.random.default_rng(0), new_tasks=50)
    assert weights.shape[1] == TASKS + 50
    new = weights[:, TASKS:]
    acts = (new[:, :, 1:] != 0.0).mean(axis=(0, 1))
    assert acts[:4].min() > 0.7
    assert 0.2 < acts[5] < 0.5
    assert np.median(acts[6:]) < 0.1
    assert abs(new[:, :, 1].mean() - SHARED[0]) < 1.0
    assert abs(new[:, :, 0].mean() - weights[:, :TASKS, 0].mean()) < 0.3


def test_the_same_seed_gives_the_same_draws():
    scored = scores(200, 3)[0]
    assert np.array_equal(draw(scored), draw(scored))


def test_graded_scores_give_narrower_draws_than_passes():
    spreads = [draw(scores(300, 4, graded=graded)[0])[:, :, 1].mean(axis=1).std() for graded in (True, False)]
    assert spreads[0] < 0.7 * spreads[1]


def test_mean_scores_are_those_of_the_drawn_curves():
    scored, true = scores(50, 5)
    inside = chance(true[scored.task, 0] + ((scored.present - 0.5) * true[scored.task, 1:]).sum(axis=1))
    low, high = np.full((2, TASKS), 0.1), np.full((2, TASKS), 0.9)
    curves = ScoreCurves(weights=np.stack([true, true]), low=low, high=high)
    assert mean_scores(curves, scored) == pytest.approx(0.1 + 0.8 * inside)


def needing_each_other(rows, seed):
    """Units 0 and 1 need each other, 2 of the units 3, 4 and 5 are enough; one answer in ten is turned over."""
    rng = np.random.default_rng([seed, 2])
    present, task = rng.random((rows, UNITS)) < 0.5, rng.integers(TASKS, size=rows)
    passed = np.where(task % 2, present[:, 0] & present[:, 1], present[:, 3:6].sum(axis=1) >= 2)
    values = np.zeros(UNITS)
    values[:2], values[3:6] = 0.8 / 4, 0.8 / 6
    return ScoredCoalitions(
        present=present, task=task, score=(passed != (rng.random(rows) < 0.1)).astype(float)
    ), values


def test_units_that_need_each_other_are_valued_better_with_floors_and_ceilings():
    errors = np.zeros((3, 2))
    for seed in range(3):
        scored, truth = needing_each_other(1500, seed)
        curves = sample_curves(scored, TASKS, np.random.default_rng(seed))
        bounded = [prefixes().effects(*drawn) for drawn in zip(curves.weights, curves.span, strict=True)]
        plain = [prefixes().effects(weights) for weights in draw(scored, seed)]
        errors[seed] = [np.sqrt(np.mean((np.mean(found, axis=0) - truth) ** 2)) for found in (bounded, plain)]
    assert errors[:, 0].mean() < 0.85 * errors[:, 1].mean()


def test_the_span_of_a_task_scales_the_effects_on_it():
    _, true = scores(50, 5)
    span = np.linspace(0.5, 1.0, TASKS)
    by_task = prefixes().task_effects(true, span)
    assert by_task == pytest.approx(prefixes().task_effects(true) * span[:, None])
    assert prefixes().effects(true, span) == pytest.approx(by_task.mean(axis=0), abs=1e-5)


def test_passes_beside_graded_tasks_count_as_coins():
    scored, _ = scores(1200, 7)
    steps, _ = scores(1200, 7, graded=True)
    mixed = replace(scored, score=np.where(scored.task < TASKS // 2, steps.score, scored.score))
    chains = _Chains(mixed, TASKS, np.random.default_rng(0), None)
    for _ in range(10):
        chains.sweep(settled=False)
    assert chains._dispersion[: TASKS // 2].max() < 0.3
    assert chains._dispersion[TASKS // 2 :].min() == 1.0


def test_values_for_other_agents_count_where_scores_say_little():
    scored = scores(60, 6)[0]
    alike, unlike = SHARED[None, :] / 10, np.roll(SHARED, 8)[None, :] / 10
    shared = {
        name: np.abs(draw(scored, prior=prior)[:, :, 1:5].mean(axis=(0, 1))).mean()
        for name, prior in (("alike", alike), ("none", None), ("unlike", unlike))
    }
    assert shared["alike"] > shared["none"]
    assert shared["alike"] > shared["unlike"]


@pytest.mark.parametrize("count", [1.0, 5.0])
@pytest.mark.parametrize("logit", [0.0, 1.0, 4.0])
def test_polya_gamma_draws_have_the_right_mean_and_variance(count, logit):
    drawn = _draw_polya_gamma(np.full(1, count), np.full(40_000, logit), np.random.default_rng(0))
    size = max(logit, 1e-2)
    mean = count * np.tanh(size / 2) / (2 * size)
    variance = count * (np.sinh(size) - size) / (4 * size**3 * np.cosh(size / 2) ** 2)
    assert drawn.mean() == pytest.approx(mean, rel=0.02)
    assert drawn.var() == pytest.approx(variance, rel=0.12)


def test_chances_of_all_groups_add_up_to_one_and_follow_the_units():
    groups, rng = UnitGroups(2, 10), np.random.default_rng(0)
    assert np.exp(groups.log_prior()).sum(axis=2) == pytest.approx(1.0)
    dead_before = np.exp(groups.log_prior()[:, :, GROUPS]).mean()
    groups.redraw(np.full((2, 10), GROUPS), rng)
    assert np.exp(groups.log_prior()).sum(axis=2) == pytest.approx(1.0)
    assert np.exp(groups.log_prior()[:, :, GROUPS]).mean() > dead_before
