"""Draws of what deletions lose, from scores of a noisy agent whose weights are known."""

import numpy as np
import pytest

import skillsv as sv
from skillsv.estimate.adaptive import deletion_draws
from skillsv.estimate.adaptive.deletion_draws import NEW_TASKS, OPTIMISM, SetDrops, draw_deletions, draw_to_choose
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


def test_the_loss_of_useless_units_is_nothing_in_half_of_the_draws(skill, observations):
    """A model without dead units spreads the loss: it is below a point in a tenth of its draws."""
    loss = drops(skill, observations, {2, 3, 4}).drop[0]
    assert (np.abs(loss) < 0.01).mean() > 0.4
    assert loss.std() < 0.04


def test_draws_hold_new_tasks_unless_the_claim_is_about_the_same_tasks(skill, observations):
    other, same = (
        draw_deletions(skill, observations, np.random.default_rng(0), same_tasks=flag) for flag in (False, True)
    )
    assert other.weights.shape[1] == TASKS + NEW_TASKS
    assert same.weights.shape[1] == TASKS
    for drawn in (other, same):
        assert np.allclose(drawn.shares.sum(axis=1), 1.0)
    assert np.ptp(other.shares[:, :TASKS]) > 0.0
    assert np.ptp(same.shares) == 0.0


def test_sets_in_small_batches_lose_the_same(skill, observations, monkeypatch):
    sets = [{0}, {1, 2}, {3, 4, 5}]
    whole = drops(skill, observations[:100], *sets)
    monkeypatch.setattr(deletion_draws, "AT_ONCE", 1)
    alone = drops(skill, observations[:100], *sets)
    for name in ("drop", "between", "within"):
        assert np.allclose(getattr(whole, name), getattr(alone, name))


def test_a_set_is_described_by_draws_that_did_not_choose_it(skill, observations):
    choosing, describing = draw_to_choose(skill, observations[:100], np.random.default_rng(0), pair_variance=0.1)
    assert len(choosing.full) == 2 * len(describing.full)
    assert not np.isin(describing.full[:, 0], choosing.full[:, 0]).any()


def test_the_same_tasks_have_no_variance_between_tasks_and_a_narrower_drop(skill, observations):
    other, same = (drops(skill, observations, {2, 3, 4}, same_tasks=flag) for flag in (False, True))
    assert not same.between.any()
    assert other.between.any()
    assert (same.variance(100, 100) <= other.variance(100, 100) + 1e-9).mean() > 0.5


@pytest.mark.heavy
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


def test_the_loss_of_a_chosen_set_is_larger_by_a_share_of_its_spread():
    drop = np.array([[0.0, 0.02, 0.04], [0.01, 0.01, 0.01]])
    found = SetDrops(drop=drop, between=np.zeros((2, 3)), within=np.zeros((2, 3)))
    assert found.if_chosen[0] == pytest.approx(drop[0] + OPTIMISM * np.std(drop[0]))
    assert found.if_chosen[1] == pytest.approx(drop[1])
