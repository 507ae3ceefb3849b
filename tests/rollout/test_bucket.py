"""The token bucket: never more starts than the allowance, and no start is refused that it has room for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import FakeTime

from skillsv.rollout.pacing import RateLimit


def test_without_a_limit_nothing_waits():
    bucket = RateLimit(None, lambda: 0.0)
    assert all(bucket.take() == 0.0 for _ in range(1000))


@settings(deadline=None)
@given(st.floats(0.5, 600.0), st.lists(st.floats(0.0, 30.0), min_size=1, max_size=20))
def test_in_any_stretch_of_time_no_more_start_than_the_burst_and_what_has_filled_up(per_minute, pauses):
    time = FakeTime()
    bucket, started = RateLimit(per_minute, time.clock), []
    for pause in pauses:
        time.now += pause
        while bucket.take() == 0.0:
            started.append(time.now)
    burst = max(1.0, per_minute / 60.0)
    for first, begin in enumerate(started):
        for last in range(first, len(started)):
            allowed = burst + (started[last] - begin) * per_minute / 60.0
            assert last - first + 1 <= allowed * (1 + 1e-6) + 1e-6


@given(st.floats(0.5, 6000.0))
def test_who_waits_as_long_as_told_gets_a_token(per_minute):
    time = FakeTime()
    bucket = RateLimit(per_minute, time.clock)
    while (wait := bucket.take()) == 0.0:
        pass
    assert wait <= 60.0 / per_minute * (1 + 1e-9)
    time.now += wait
    assert bucket.take() == 0.0


def test_a_clock_that_jumps_back_gives_nothing_away():
    time = FakeTime()
    bucket = RateLimit(60.0, time.clock)
    assert bucket.take() == 0.0
    time.now -= 100.0
    assert bucket.take() == pytest.approx(1.0)
