"""How many at once, and how long to wait."""

from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.model.rollout import FailureKind, RolloutFailure, RolloutKey
from skillsv.rollout.pacing import Pace, backoff

KEY = RolloutKey(tree="a", task="b", agent="c")


def wait(attempt, *, retry_after=None, seed=0, key=KEY):
    failure = RolloutFailure(kind=FailureKind.CRASH, message="", retry_after=retry_after)
    return backoff(key, attempt, failure, base=1.0, cap=60.0, seed=seed)


def test_a_wave_of_rate_limits_is_one_blow():
    pace = Pace(64)
    wave = pace.round
    assert [pace.slowed(wave) for _ in range(64)] == [True] + [False] * 63
    assert pace.at_once == 32
    assert pace.slowed(pace.round)
    assert pace.at_once == 16


@settings(deadline=None)
@given(st.integers(1, 200), st.lists(st.booleans(), max_size=300))
def test_the_pace_stays_between_one_and_the_most(most, blows):
    pace = Pace(most)
    for blow in blows:
        if blow:
            pace.slowed(pace.round)
        else:
            pace.succeeded()
        assert 1 <= pace.at_once <= most


def test_a_full_round_of_successes_brings_one_more():
    pace = Pace(16)
    pace.slowed(pace.round)
    for _ in range(9):
        pace.succeeded()
    assert pace.at_once == 9
    for _ in range(1000):
        pace.succeeded()
    assert pace.at_once == 16


@settings(deadline=None)
@given(st.integers(1, 40), st.one_of(st.none(), st.floats(0, 500)), st.integers(0, 9))
def test_waits_are_bounded_reproducible_and_never_shorter_than_asked(attempt, retry_after, seed):
    one = wait(attempt, retry_after=retry_after, seed=seed)
    assert one == wait(attempt, retry_after=retry_after, seed=seed)
    assert one >= (retry_after or 0.0)
    assert one <= max(90.0, retry_after or 0.0)


def test_rollouts_that_fail_together_do_not_come_back_together():
    waits = {wait(3, key=RolloutKey(tree=str(tree), task="b", agent="c")) for tree in range(50)}
    assert len(waits) == 50
    assert max(waits) > 1.5 * min(waits)
