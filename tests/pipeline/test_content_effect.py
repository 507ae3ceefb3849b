"""The tests that tell an effect of a skill's content from noise: their error rate and their power."""

import numpy as np
import pytest

from skillsv.pipeline.content_effect import (
    FIRST_CHANGE,
    MOST_PAIRS,
    ContentEffect,
    ask_pairs,
    first_look,
    pairs_to_ask,
    second_look,
)
from skillsv.pipeline.shrink_plan import FirstBatch

TASKS = tuple(f"t{number}" for number in range(30))
TRIGGER, FULL = frozenset({"m"}), frozenset({"m", "a"})


def batch_of(scores):
    trigger, full, changed = (tuple(row) for row in np.asarray(scores, dtype=float).tolist())
    noisy = sum(a != b for a, b in zip(full, changed, strict=True)) >= 2
    return FirstBatch(trigger=trigger, full=full, changed=changed, noisy=noisy, tasks=TASKS[: len(full)])


def decide(with_trigger, with_full, rng):
    """The decision about an agent that solves tasks with these chances, and the rollouts of the second look."""
    chances = np.stack([with_trigger, with_full, with_full])
    batch = batch_of(rng.random(chances.shape) < chances)
    effect = first_look(batch)
    if effect is not ContentEffect.UNCLEAR:
        return effect, 0
    asked = ask_pairs(TRIGGER, FULL, pairs_to_ask(batch, 800))
    requests = next(asked)
    chance = {TRIGGER: dict(zip(TASKS, with_trigger, strict=True)), FULL: dict(zip(TASKS, with_full, strict=True))}
    with pytest.raises(StopIteration) as end:
        asked.send({one: float(rng.random() < chance[one.coalition][one.task]) for one in requests})
    return second_look(batch, end.value.value), len(requests)


def share_shown(with_trigger, with_full, *, batches=60):
    rng = np.random.default_rng(3)
    return np.mean([decide(with_trigger, with_full, rng)[0] is ContentEffect.SHOWN for _ in range(batches)])


@pytest.mark.parametrize("chance", [0.5, 0.8, 0.97])
def test_an_agent_that_ignores_the_skill_is_ended(chance):
    chances = np.full(30, chance)
    assert share_shown(chances, chances, batches=150) <= 0.1


def test_an_agent_that_needs_the_skill_on_a_tenth_of_the_tasks_goes_on():
    with_full = np.where(np.arange(30) < 20, 0.97, 0.03)
    with_trigger = np.where(np.arange(30) < 3, 0.03, with_full)
    assert share_shown(with_trigger, with_full) >= 0.95


def test_a_skill_that_harms_makes_a_difference():
    assert share_shown(np.full(30, 0.9), np.full(30, 0.4), batches=20) >= 0.95


def test_a_steady_agent_that_needs_the_skill_for_one_task_goes_on():
    with_full = np.ones(30)
    with_trigger = np.where(np.arange(30) == 7, 0.0, with_full)
    effect, rollouts = decide(with_trigger, with_full, np.random.default_rng(1))
    assert (effect, rollouts) == (ContentEffect.SHOWN, 12)


def test_equal_scores_with_and_without_content_need_no_second_look():
    assert first_look(batch_of([[1, 0], [1, 0], [1, 0]])) is ContentEffect.NONE


def test_without_scores_nothing_is_decided():
    assert first_look(batch_of(np.empty((3, 0)))) is ContentEffect.SHOWN


def test_the_second_look_stays_within_its_share_and_asks_under_null_changes_of_its_own():
    noise = batch_of([[0, 1] * 15, [1, 0] * 15, [1, 1] * 15])
    assert len(pairs_to_ask(noise, 800)) == MOST_PAIRS
    assert len(pairs_to_ask(noise, 200)) == 15
    assert [len(pairs_to_ask(noise, 200, left)) for left in (0, 9, 30, 200)] == [0, 4, 15, 15]
    assert {change for _, change in pairs_to_ask(noise, 800)} == {FIRST_CHANGE, FIRST_CHANGE + 1}


def test_the_same_scores_are_always_judged_the_same():
    batch = batch_of([[0, 1, 1] * 10, [1, 1, 0] * 10, [1, 0, 1] * 10])
    assert first_look(batch) is first_look(batch)


def test_missing_scores_of_the_second_look_are_left_out():
    batch = batch_of([[0] * 2, [1] * 2, [1] * 2])
    asked = ask_pairs(TRIGGER, FULL, pairs_to_ask(batch, 800))
    requests = next(asked)
    with pytest.raises(StopIteration) as end:
        asked.send(dict.fromkeys(requests))
    assert second_look(batch, end.value.value) is ContentEffect.NONE
