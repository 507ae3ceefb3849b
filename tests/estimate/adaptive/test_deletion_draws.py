"""Draws of what deletions lose, from scores of a noisy agent whose weights are known."""

import numpy as np
import pytest

import skillsv as sv
from skillsv.estimate.adaptive.deletion_draws import draw_deletions
from skillsv.model.coalition import AdaptiveReason, Observation, Operator

WEIGHTS = np.array([2.5, 2.5, 0.0, 0.0, 0.0, -1.5])
TASKS = 12


@pytest.fixture(scope="module")
def skill():
    return sv.compile("# Facts\n\n" + "".join(f"- fact number {number}\n" for number in range(len(WEIGHTS)))).compiled


@pytest.fixture(scope="module")
def observations(skill):
    """Scores of random coalitions: units 0 and 1 help on every task, unit 5 harms, the others do nothing."""
    rng = np.random.default_rng(3)
    found = []
    for number in range(600):
        present = rng.random(len(WEIGHTS)) < 0.5
        chance = 1 / (1 + np.exp(-(-1.5 + WEIGHTS[present].sum())))
        units = [unit for unit, here in zip(skill.execution, present, strict=True) if here]
        found.append(
            Observation(
                coalition=frozenset({skill.trigger, *units}),
                operator=Operator.DELETE,
                task=f"t{number % TASKS}",
                replicate=number,
                score=float(rng.random() < chance),
                why=AdaptiveReason.CLOSED_SET,
            )
        )
    return found


def drops(skill, observations, *removed, **options):
    drawn = draw_deletions(skill, observations, np.random.default_rng(0), **options)
    masks = np.array([[number in one for number in range(len(WEIGHTS))] for one in removed])
    return drawn.of_sets(masks)


def test_useless_units_lose_nothing_useful_ones_much_and_harmful_ones_gain(skill, observations):
    useless, useful, harmful, nothing = drops(skill, observations, {2, 3, 4}, {0, 1}, {5}, set()).drop.mean(axis=1)
    assert abs(useless) < 0.06
    assert useful > 0.5
    assert harmful < -0.02
    assert nothing == 0.0


def test_the_same_tasks_have_no_variance_between_tasks_and_a_narrower_drop(skill, observations):
    other, same = (drops(skill, observations, {2, 3, 4}, same_tasks=flag) for flag in (False, True))
    assert not same.between.any()
    assert other.between.any()
    assert (same.variance(100, 100) <= other.variance(100, 100) + 1e-9).mean() > 0.5


def test_a_judge_is_learnt_and_not_believed(skill, observations):
    """Little data: an opinion that agrees with the scores makes useless units look safer than one that does not."""
    few = observations[:80]
    units = skill.execution
    right = dict(zip(units, WEIGHTS.tolist(), strict=True))
    wrong = dict(zip(units, [0.0, 0.0, 2.5, 2.5, 2.5, 2.5], strict=True))
    spread = {
        name: drops(skill, few, {2, 3, 4}, judged=judged).drop
        for name, judged in (("right", right), ("wrong", wrong), ("none", None))
    }
    assert spread["right"].std() < spread["none"].std()
    many = drops(skill, observations, {2, 3, 4}, judged=wrong).drop.mean()
    assert abs(many) < 0.08


def test_equal_opinions_change_nothing(skill, observations):
    equal = dict.fromkeys(skill.execution, 1.0)
    one, other = (drops(skill, observations, {0}, judged=judged).drop for judged in (equal, None))
    assert np.array_equal(one, other)
