"""What one session has spent so far, and whether too much of it came to nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from skillsv.errors import Unavailable
from skillsv.model.rollout import FailureKind, Rollout, Usage
from skillsv.model.value import Spending
from skillsv.rollout.budget import Spent
from skillsv.rollout.options import RunnerOptions


class Tally:
    """Counts that only grow, whatever the clock does."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.scored = 0
        self.missing = 0
        self.reused = 0
        self.attempts = 0
        self._ended = 0
        self.usage = Usage()
        self._clock = clock
        self._last = clock()
        self._seconds = 0.0
        self._kinds: Counter[FailureKind] = Counter()
        self._example: dict[FailureKind, str] = {}

    @property
    def seconds(self) -> float:
        """Time since the start. A clock that jumps back adds nothing."""
        now = self._clock()
        self._seconds += max(0.0, now - self._last)
        self._last = now
        return self._seconds

    @property
    def spending(self) -> Spending:
        """The counts as the valuation reports them."""
        return Spending(spent=self.scored, reused=self.reused, failed=self.missing)

    def spent(self, in_flight: int) -> Spent:
        """What a budget is held against: what is in flight counts at the average of what has finished."""
        return Spent(rollouts=self.attempts, usage=self._projected(in_flight), seconds=self.seconds)

    def _projected(self, in_flight: int) -> Usage:
        if not self._ended or not in_flight:
            return self.usage
        share = 1.0 + in_flight / self._ended
        given, taken, usd = self.usage.input_tokens, self.usage.output_tokens, self.usage.usd
        return Usage(
            input_tokens=None if given is None else int(given * share),
            output_tokens=None if taken is None else int(taken * share),
            usd=None if usd is None else usd * share,
        )

    def ended(self, attempt: Rollout) -> None:
        """Count what one attempt used, whatever came of it: the money is gone before the rollout is saved."""
        self._ended += 1
        self.usage += attempt.usage

    def finished(self, rollout: Rollout) -> None:
        """Count one that has a score now, or is missing for good."""
        if rollout.failure is None:
            self.scored += 1
            return
        self.missing += 1
        self._kinds[rollout.failure.kind] += 1
        self._example[rollout.failure.kind] = rollout.failure.message

    def verdict(self, options: RunnerOptions) -> Unavailable | None:
        """Too many missing: the agent or verifier is as good as unavailable, and going on would waste money."""
        finished = self.scored + self.missing
        hopeless = not self.scored and self.missing >= options.hopeless_after
        too_many = finished >= options.judged_after and self.missing > options.max_missing * finished
        return self.unavailable() if hopeless or too_many else None

    def unavailable(self) -> Unavailable:
        """The sentence for a run that ends because too little comes back."""
        kind, count = self._kinds.most_common(1)[0]
        return Unavailable(
            f"{self.missing} of {self.scored + self.missing} rollouts have no score after all attempts; "
            f"{count} of them failed as `{kind}`: {self._example[kind]}",
            hint="Everything that finished is kept. Mend the cause and run the same command again: it resumes.",
        )
