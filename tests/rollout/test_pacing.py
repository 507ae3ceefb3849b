"""How many rollouts run at the same time, and the wait before a retry."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.model.rollout import FailureKind, RolloutFailure, RolloutKey
from skillsv.rollout.pacing import ConcurrencyLimit, backoff

KEY = RolloutKey(tree="a", task="b", agent="c")


def wait(attempt, *, retry_after=None, seed=0, key=KEY):
    failure = RolloutFailure(kind=FailureKind.CRASH, message="", retry_after=retry_after)
    return backoff(key, attempt, failure, base=1.0, cap=60.0, seed=seed)


def test_refusals_of_rollouts_started_together_halve_the_number_once():
    limit = ConcurrencyLimit(64)
    at_start = limit.reductions
    assert [limit.reduce(at_start) for _ in range(64)] == [True] + [False] * 63
    assert limit.current == 32
    assert limit.reduce(limit.reductions)
    assert limit.current == 16


@settings(deadline=None)
@given(st.integers(1, 200), st.lists(st.booleans(), max_size=300))
def test_the_number_at_once_stays_between_one_and_the_most(most, refusals):
    limit = ConcurrencyLimit(most)
    for refused in refusals:
        if refused:
            limit.reduce(limit.reductions)
        else:
            limit.increase()
        assert 1 <= limit.current <= most


def test_a_full_round_of_successes_adds_one():
    limit = ConcurrencyLimit(16)
    limit.reduce(limit.reductions)
    for _ in range(9):
        limit.increase()
    assert limit.current == 9
    for _ in range(1000):
        limit.increase()
    assert limit.current == 16


@pytest.mark.heavy
@settings(deadline=None)
@given(st.integers(1, 40), st.one_of(st.none(), st.floats(0, 500)), st.integers(0, 9))
def test_waits_are_bounded_reproducible_and_never_shorter_than_asked(attempt, retry_after, seed):
    one = wait(attempt, retry_after=retry_after, seed=seed)
    assert one == wait(attempt, retry_after=retry_after, seed=seed)
    assert one >= (retry_after or 0.0)
    assert one <= max(90.0, retry_after or 0.0)


def test_rollouts_that_fail_together_are_retried_at_different_times():
    waits = {wait(3, key=RolloutKey(tree=str(tree), task="b", agent="c")) for tree in range(50)}
    assert len(waits) == 50
    assert max(waits) > 1.5 * min(waits)
