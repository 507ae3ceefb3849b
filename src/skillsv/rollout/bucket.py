"""A limit on how many rollouts start in a minute, shared by everything that one driver runs, wherever it runs."""

from __future__ import annotations

import math
from collections.abc import Callable

BURST_SECONDS = 1.0
"""How much of the minute's allowance may be used at once, after a pause."""


class Bucket:
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
