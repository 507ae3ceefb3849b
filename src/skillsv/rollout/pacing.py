"""How fast rollouts start: the number at the same time, the number a minute, and the wait before a retry."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from skillsv.model.rollout import FailureKind, RolloutFailure, RolloutKey

OVERLOAD_KINDS = frozenset({FailureKind.RATE_LIMIT, FailureKind.OVERLOAD})
"""Kinds of failure by which a service asks for fewer rollouts at the same time."""

BURST_SECONDS = 1.0
"""After a pause, so many seconds' share of the rollouts a minute may start at the same time."""


class ConcurrencyLimit:
    """How many rollouts may be pending: additive increase, multiplicative decrease, between 1 and `most`.

    A rate limit halves the number; a full round of successes adds one. Rollouts that were pending together when the
    service refused count as one refusal: only those started since then may halve the number again.
    """

    def __init__(self, most: int) -> None:
        self._most = float(most)
        self._current = float(most)
        self._reductions = 0

    @property
    def current(self) -> int:
        """How many rollouts may be pending now; at least one."""
        return int(self._current)

    @property
    def reductions(self) -> int:
        """How often the number was halved so far; a rollout remembers this count from its start."""
        return self._reductions

    def increase(self) -> None:
        """Count one rollout that the service did not refuse."""
        self._current = min(self._most, self._current + 1.0 / self._current)

    def reduce(self, reductions_at_start: int) -> bool:
        """Halve the number for a refused rollout, unless it was halved since that one started; True if it was."""
        if reductions_at_start != self._reductions:
            return False
        self._reductions += 1
        self._current = max(1.0, self._current / 2.0)
        return True


class RateLimit:
    """A token bucket: at most `per_minute` rollouts start in a minute (None: no limit), wherever they run.

    It holds the tokens of `BURST_SECONDS`, at least one.
    """

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._rate = math.inf if per_minute is None else per_minute / 60.0
        self._most = max(1.0, self._rate * BURST_SECONDS)
        self._tokens = self._most
        self._clock = clock
        self._last = clock()

    def take(self) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        if math.isinf(self._rate):
            return 0.0
        now = self._clock()
        self._tokens = min(self._most, self._tokens + max(0.0, now - self._last) * self._rate)
        self._last = now
        if self._tokens >= 1.0 - 1e-9:
            self._tokens -= 1.0
            return 0.0
        return (1.0 - self._tokens) / self._rate


def backoff(key: RolloutKey, attempt: int, failure: RolloutFailure, *, base: float, cap: float, seed: int) -> float:
    """Seconds to wait before the next attempt: exponential, with jitter, at least what the service asked for.

    The jitter depends on seed, key and attempt alone, so it is the same in whatever order failures arrive.
    """
    jitter = random.Random(f"{seed}:{key.tree}:{key.task}:{key.replicate}:{attempt}").uniform(0.5, 1.5)
    return max(failure.retry_after or 0.0, min(cap, base * 2.0 ** (attempt - 1)) * jitter)
