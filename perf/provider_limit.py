"""How a run follows the limit of a provider: a simulated provider that answers 429 above a rate, on a clock that jumps.

`python -m perf provider_limit` prints how much of the provider's rate a run uses and how many rollouts are refused,
with the bucket of the product and with the rule before it, which halved the rollouts at once after a refusal.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from skillsv.rollout.pacing import ConcurrencyLimit
from skillsv.rollout.provider_limit import ProviderLimit

CASES = ((0.5, 1, 8, 2.0), (1.0, 5, 64, 5.0), (10.0, 10, 64, 2.0), (50.0, 50, 256, 3.0))
"""Rollouts a second that the provider accepts, how many of them at once after a pause, jobs, median seconds of one."""

SPREAD = 0.6
"""Standard deviation of the logarithm of a rollout's time."""

REFUSAL_SECONDS = 0.1
"""Seconds until a refusal arrives."""

LEAST_ROLLOUTS, SECONDS = 600, 200
"""Rollouts of a run: as many as the provider accepts in so many seconds, at least so many."""


@dataclass
class SimulatedRun:
    """One run against the provider; `bucket` False limits the rollouts at once instead of the rate."""

    rate: float
    burst: int
    jobs: int
    seconds: float
    bucket: bool
    now: float = 0.0
    refused: int = 0
    active: int = 0
    events: list[tuple[float, int, str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(1)
        self.limit, self.concurrency = ProviderLimit(None, lambda: self.now), ConcurrencyLimit(self.jobs)
        self.rollouts = max(LEAST_ROLLOUTS, int(SECONDS * self.rate))
        self.queue = deque([1] * self.rollouts)  # the number of each one's attempt
        self.tokens, self.last, self.look_at, self.count = float(self.burst), 0.0, 0.0, 0

    def run(self) -> tuple[float, float]:
        """Share of the provider's rate that was used, and refusals for each rollout."""
        self._start()
        while self.events:
            self.now, _, what, attempt, reductions = heapq.heappop(self.events)
            if what == "answered":
                self.active -= 1
                self.limit.accept()
                self.concurrency.increase()
            elif what == "refused":
                self.active -= 1
                self.refused += 1
                (self.limit.refuse if self.bucket else self.concurrency.reduce)(reductions)
                wait = min(60.0, 2.0 ** (attempt - 1)) * self.rng.uniform(0.5, 1.5)
                self._push(self.now + wait, "again", attempt + 1)
            elif what == "again":
                self.queue.append(attempt)
            self._start()
        return self.rollouts / self.now / self.rate, self.refused / self.rollouts

    def _push(self, when: float, what: str, attempt: int = 0, reductions: int = 0) -> None:
        self.count += 1
        heapq.heappush(self.events, (when, self.count, what, attempt, reductions))

    def _start(self) -> None:
        while self.queue and self.active < (self.jobs if self.bucket else self.concurrency.current):
            wait = self.limit.take() if self.bucket else 0.0
            if wait:
                if self.look_at <= self.now:
                    self.look_at = self.now + wait
                    self._push(self.look_at, "look")
                return
            attempt, self.active = self.queue.popleft(), self.active + 1
            self.tokens = min(self.burst, self.tokens + (self.now - self.last) * self.rate)
            self.last = self.now
            reductions = (self.limit if self.bucket else self.concurrency).reductions
            if self.tokens >= 1.0:
                self.tokens -= 1.0
                seconds = self.rng.lognormal(np.log(self.seconds), SPREAD)
                self._push(self.now + seconds, "answered", attempt, reductions)
            else:
                self._push(self.now + REFUSAL_SECONDS, "refused", attempt, reductions)


def figures() -> Iterator[tuple[str, float, str]]:
    for rate, burst, jobs, seconds in CASES:
        for bucket in (False, True):
            used, refused = SimulatedRun(rate, burst, jobs, seconds, bucket).run()
            what = f"{rate:g} rollouts a second accepted, {jobs} jobs, {'bucket' if bucket else 'halving'}"
            yield what, used, "of the provider's rate used"
            yield what, refused, "refusals for each rollout"
