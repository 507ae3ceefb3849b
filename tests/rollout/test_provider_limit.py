"""How many rollouts start in a minute: the user's limit, and what a provider that refuses (429) teaches."""

import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import FakeTime

from skillsv.rollout.provider_limit import FORGOTTEN_SECONDS, LEAST_RATE, ProviderLimit, shared_limit

SECONDS = 0.1
"""Of one rollout of the provider below."""


def test_without_a_rate_limit_nothing_waits():
    limit = ProviderLimit(None, lambda: 0.0)
    assert all(limit.take() == 0.0 for _ in range(1000))


@settings(deadline=None)
@given(st.floats(0.5, 600.0), st.lists(st.floats(0.0, 30.0), min_size=1, max_size=20))
def test_starts_in_any_period_stay_below_the_burst_plus_the_rate(per_minute, pauses):
    time = FakeTime()
    limit, started = ProviderLimit(per_minute, time.clock), []
    for pause in pauses:
        time.now += pause
        while limit.take() == 0.0:
            started.append(time.now)
    burst = max(1.0, per_minute / 60.0)
    for first, begin in enumerate(started):
        for last in range(first, len(started)):
            allowed = burst + (started[last] - begin) * per_minute / 60.0
            assert last - first + 1 <= allowed * (1 + 1e-6) + 1e-6


@given(st.floats(0.5, 6000.0))
def test_after_the_returned_wait_there_is_a_token(per_minute):
    time = FakeTime()
    limit = ProviderLimit(per_minute, time.clock)
    while (wait := limit.take()) == 0.0:
        pass
    assert wait <= 60.0 / per_minute * (1 + 1e-9)
    time.now += wait
    assert limit.take() == 0.0


def test_a_clock_that_jumps_back_adds_no_token():
    time = FakeTime()
    limit = ProviderLimit(60.0, time.clock)
    assert limit.take() == 0.0
    time.now -= 100.0
    assert limit.take() == pytest.approx(1.0)


@dataclass
class Provider:
    """Accepts `rate` rollouts a second, a second's share at once, and refuses the others."""

    rate: float
    time: FakeTime = field(default_factory=FakeTime)
    last: float = 0.0
    accepted: int = 0
    refused: int = 0

    def __post_init__(self):
        self.tokens = max(1.0, self.rate)

    def ask(self):
        self.tokens = min(max(1.0, self.rate), self.tokens + (self.time.now - self.last) * self.rate)
        self.last = self.time.now
        if self.tokens < 1.0:
            self.refused += 1
            return False
        self.tokens -= 1.0
        self.accepted += 1
        return True


def ask_through(provider, limits, seconds):
    """Ask by these limits in turn, each as often as it allows, until so many seconds have passed."""
    end = provider.time.now + seconds
    while provider.time.now < end:
        waits = []
        for limit in limits:
            wait, pending = 0.0, []
            while len(pending) < 64 and not (wait := limit.take()):
                pending.append((limit.reductions, provider.ask()))
            waits.append(wait)
            for reductions, accepted in pending:
                if accepted:
                    limit.accept()
                else:
                    limit.refuse(reductions)
        provider.time.now += max(SECONDS, min(waits))


@pytest.mark.parametrize("rate", [0.2, 1.0, 4.0, 30.0])
def test_the_rate_follows_what_the_provider_accepts(rate):
    provider = Provider(rate)
    limit = ProviderLimit(None, provider.time.clock)
    ask_through(provider, [limit], 120)
    provider.accepted = provider.refused = 0
    ask_through(provider, [limit], 600)
    assert provider.accepted > 0.75 * rate * 600
    assert provider.refused < 0.12 * provider.accepted


def test_runs_that_share_a_limit_learn_together():
    provider = Provider(4.0)
    limit = ProviderLimit(None, provider.time.clock)
    ask_through(provider, [limit, limit, limit], 600)
    assert provider.accepted > 0.8 * 4.0 * 600
    assert provider.refused < 0.15 * provider.accepted


def test_rollouts_that_were_pending_together_reduce_the_rate_once():
    time = FakeTime()
    limit = ProviderLimit(None, time.clock)
    assert not any(limit.take() for _ in range(100))
    assert [limit.refuse(0) for _ in range(100)] == [True] + [False] * 99
    assert limit.per_minute == pytest.approx(0.7 * 100 * 60)


def test_a_rate_neither_rises_above_the_users_nor_falls_to_nothing():
    time = FakeTime()
    limit = ProviderLimit(30.0, time.clock)
    for _ in range(100):
        limit.refuse(limit.reductions)
    assert limit.per_minute == pytest.approx(LEAST_RATE * 60)
    for _ in range(100_000):
        limit.accept()
    assert limit.per_minute == 30.0


def test_nothing_starts_before_the_time_that_a_provider_asked_for():
    time = FakeTime()
    limit = ProviderLimit(None, time.clock)
    limit.close(20.0)
    limit.close(5.0)
    assert limit.take() == pytest.approx(20.0)
    time.now += 20.0
    assert limit.take() == 0.0


def test_a_learnt_rate_is_forgotten_after_a_long_pause():
    time = FakeTime()
    limit = ProviderLimit(None, time.clock)
    limit.take()
    limit.refuse(0)
    assert limit.take() > 0.0
    time.now += FORGOTTEN_SECONDS + 1
    assert not any(limit.take() for _ in range(50))


def test_a_provider_has_one_limit_in_the_process():
    time = FakeTime()
    one = shared_limit("a provider of this test", None, time.clock)
    assert shared_limit("a provider of this test", None, time.clock) is one
    assert shared_limit("another provider of this test", None, time.clock) is not one
    assert shared_limit("", None, time.clock) is not shared_limit("", None, time.clock)


def test_threads_take_each_token_once():
    limit = ProviderLimit(60_000.0, lambda: 0.0)
    taken = [0] * 8

    def take(place):
        while limit.take() == 0.0:
            taken[place] += 1

    threads = [threading.Thread(target=take, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 1000
