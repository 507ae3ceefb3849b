"""How many rollouts run at the same time, and the wait before a retry. The number a minute: `provider_limit.py`."""

from __future__ import annotations

import random

from skillsv.model.rollout import FailureKind, RolloutFailure, RolloutKey

OVERLOAD_KINDS = frozenset({FailureKind.RATE_LIMIT, FailureKind.OVERLOAD})
"""Kinds of failure by which a service asks for fewer rollouts, in a minute or at the same time."""


class ConcurrencyLimit:
    """How many rollouts may be pending: additive increase, multiplicative decrease, between 1 and `most`.

    An overloaded service halves the number; a full round of successes adds one. Rollouts that were pending together
    when the service refused count as one refusal: only those started since then may halve the number again.
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


def backoff(key: RolloutKey, attempt: int, failure: RolloutFailure, *, base: float, cap: float, seed: int) -> float:
    """Seconds to wait before the next attempt: exponential, with jitter, at least what the service asked for.

    The jitter depends on seed, key and attempt alone, so it is the same in whatever order failures arrive.
    """
    jitter = random.Random(f"{seed}:{key.tree}:{key.task}:{key.replicate}:{attempt}").uniform(0.5, 1.5)
    return max(failure.retry_after or 0.0, min(cap, base * 2.0 ** (attempt - 1)) * jitter)
