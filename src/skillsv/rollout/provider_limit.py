"""How many rollouts a minute a provider accepts: a token bucket whose rate follows the provider's refusals.

All runs of this process that ask the same provider share one bucket, and no rollout starts without a token of it,
wherever it runs: the driver of a cluster starts the rollouts of all nodes.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable

BURST_SECONDS = 1.0
"""After a pause, so many seconds' share of the rollouts a minute may start at the same time."""

MEASURED_SECONDS = 10.0
"""A refusal is about the rollouts that started in so many seconds before it."""

DECREASE = 0.7
"""A refusal multiplies the rate at which rollouts started by this."""

RECOVERY = 1.0 / 60.0
"""Additive increase: the share of the refused rate that a second of accepted rollouts adds, or a rollout if slower."""

LEAST_RATE = 1.0 / 60.0
"""Rollouts a second at least, so that a run notices when the provider accepts more."""

FORGOTTEN_SECONDS = 600.0
"""After so many seconds without a rollout the provider is asked without a learnt rate again."""


class ProviderLimit:
    """A token bucket: at most `per_minute` rollouts start in a minute (None: as many as the provider accepts).

    Additive increase, multiplicative decrease: a refusal (429) reduces the rate, accepted rollouts raise it again.
    Rollouts that were pending together when the provider refused count as one refusal. Threads may share it.
    """

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._most = math.inf if per_minute is None else per_minute / 60.0
        self._rate = self._most
        self._step = 0.0  # what a second of accepted rollouts adds to the rate, or one that takes longer
        self._clock = clock
        self._last = clock()
        self._tokens = self._capacity()
        self._closed_until = -math.inf
        self._starts: deque[float] = deque()  # times of the rollouts that count for the next refusal
        self._reductions = 0
        self._lock = threading.Lock()

    @property
    def per_minute(self) -> float:
        """Rollouts that may start in a minute now; infinite while neither user nor provider has set a limit."""
        return self._rate * 60.0

    @property
    def reductions(self) -> int:
        """How often the rate was reduced so far; a rollout remembers this count from its start."""
        return self._reductions

    def take(self) -> float:
        """Take a token and return 0, or return the seconds until there may be one."""
        with self._lock:
            now = self._clock()
            idle, self._last = max(0.0, now - self._last), now
            if idle > FORGOTTEN_SECONDS:
                self._rate = self._most
            if now < self._closed_until:
                return self._closed_until - now
            if math.isfinite(self._rate):
                self._tokens = min(self._capacity(), self._tokens + idle * self._rate)
                if self._tokens < 1.0 - 1e-9:
                    return (1.0 - self._tokens) / self._rate
                self._tokens -= 1.0
            self._starts.append(now)
            while self._starts[0] < now - MEASURED_SECONDS:
                self._starts.popleft()
            return 0.0

    def accept(self) -> None:
        """Count one rollout that the provider did not refuse."""
        with self._lock:
            if math.isfinite(self._rate):
                self._rate = min(self._most, self._rate + self._step / max(1.0, self._rate))

    def close(self, seconds: float) -> None:
        """Start no rollout in the next seconds."""
        with self._lock:
            self._closed_until = max(self._closed_until, self._clock() + seconds)

    def refuse(self, reductions_at_start: int) -> bool:
        """Reduce the rate for a refused rollout, unless it was reduced since that one started; True if it was."""
        with self._lock:
            if reductions_at_start != self._reductions:
                return False
            now = self._clock()
            seconds = max(BURST_SECONDS, now - self._starts[0]) if self._starts else MEASURED_SECONDS
            refused = min(self._rate, max(1, len(self._starts)) / seconds)
            self._rate = max(min(LEAST_RATE, self._most), DECREASE * refused)
            self._step = RECOVERY * refused
            self._tokens = 0.0
            self._starts.clear()
            self._reductions += 1
            return True

    def _capacity(self) -> float:
        return max(1.0, self._rate * BURST_SECONDS)


_limits: dict[tuple[str, float | None, Callable[[], float]], ProviderLimit] = {}
_limits_lock = threading.Lock()


def shared_limit(provider: str, per_minute: float | None, clock: Callable[[], float]) -> ProviderLimit:
    """The bucket of this provider in this process; without a name, one of its own."""
    if not provider:
        return ProviderLimit(per_minute, clock)
    with _limits_lock:
        return _limits.setdefault((provider, per_minute, clock), ProviderLimit(per_minute, clock))
