"""How many rollouts at once: as many as allowed, fewer while a service asks for patience."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from skillsv.model.rollout import FailureKind, RolloutFailure, RolloutKey

SLOWING = frozenset({FailureKind.RATE_LIMIT, FailureKind.OVERLOAD})
"""Failures that say: too many at once."""


class Pace:
    """Additive increase, multiplicative decrease on the number of rollouts in flight.

    Half as many after a rate limit, one more after each full round of successes. Rollouts that were in flight together
    when the limit hit count as one blow: only those started since may halve it again.
    """

    def __init__(self, most: int) -> None:
        self._most = float(most)
        self._now = float(most)
        self._round = 0

    @property
    def at_once(self) -> int:
        """How many may be in flight now; at least one."""
        return int(self._now)

    @property
    def round(self) -> int:
        """The number of blows so far; a rollout remembers it from its start."""
        return self._round

    def succeeded(self) -> None:
        """One more finished without trouble."""
        self._now = min(self._most, self._now + 1.0 / self._now)

    def slowed(self, started_in: int) -> bool:
        """A rollout started in that round met a rate limit; True if the pace was reduced for it."""
        if started_in != self._round:
            return False
        self._round += 1
        self._now = max(1.0, self._now / 2.0)
        return True


def backoff(key: RolloutKey, attempt: int, failure: RolloutFailure, *, base: float, cap: float, seed: int) -> float:
    """Seconds to wait before the next attempt: exponential, jittered, never less than the service asked for.

    The jitter hangs on seed, key and attempt alone, so that it is the same in whatever order failures arrive.
    """
    jitter = random.Random(f"{seed}:{key.tree}:{key.task}:{key.replicate}:{attempt}").uniform(0.5, 1.5)
    return max(failure.retry_after or 0.0, min(cap, base * 2.0 ** (attempt - 1)) * jitter)


# A limit on how many rollouts start in a minute, shared by everything that one driver runs, wherever it runs.

BURST_SECONDS = 1.0
"""How much of the minute's allowance may be used at once, after a pause."""


class RateLimit:
    """A token bucket: it fills at `per_minute` (None: no limit) and holds a second's worth, at least one."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._rate = math.inf if per_minute is None else per_minute / 60.0
        self._most = max(1.0, self._rate * BURST_SECONDS)
        self._tokens = self._most
        self._clock = clock
        self._last = clock()

    def take(self) -> float:
        """Take a token and return 0, or return how many seconds it is until there is one."""
        if math.isinf(self._rate):
            return 0.0
        now = self._clock()
        self._tokens = min(self._most, self._tokens + max(0.0, now - self._last) * self._rate)
        self._last = now
        if self._tokens >= 1.0 - 1e-9:
            self._tokens -= 1.0
            return 0.0
        return (1.0 - self._tokens) / self._rate
