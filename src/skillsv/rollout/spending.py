"""What one session has spent so far, and whether too much of it came to nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from skillsv.errors import BudgetReached, SkillSVError, Unavailable
from skillsv.model.rollout import Ending, FailureKind, Rollout, RolloutFailure, RolloutKey, Usage
from skillsv.model.value import Spending
from skillsv.rollout.pacing import SLOWING
from skillsv.rollout.run_control import RunnerOptions
from skillsv.rollout.stop_rules import Spent

SAME_CRASHES = 3
"""So many different tasks that crash the same way, and no success, mean that the agent or verifier is broken."""

CRASHES = frozenset(
    {
        FailureKind.CRASH,
        FailureKind.BAD_REQUEST,
        FailureKind.BAD_OUTPUT,
        FailureKind.VERIFIER,
        FailureKind.SANDBOX,
    }
)
"""Failures that a broken agent or verifier repeats on every task. A busy service or a slow line is not among them."""

_VARIABLE = re.compile(r"[\d/\\]")


class SpendingTracker:
    """Counts that only grow, whatever the clock does."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.scored = 0
        self.missing = 0
        self.reused = 0
        self._withheld = 0
        self._reused_scores = 0
        self.attempts = 0
        self._ended = 0
        self.usage = Usage()
        self._clock = clock
        self._last = clock()
        self._seconds = 0.0
        self._kinds: Counter[FailureKind] = Counter()
        self._example: dict[FailureKind, str] = {}
        self._failed_attempts: Counter[FailureKind] = Counter()
        self._crashed: dict[tuple[FailureKind, str], dict[str, str]] = {}
        self._cut: set[RolloutKey] = set()

    @property
    def succeeded(self) -> bool:
        """Whether any rollout has a score, of this session or of an earlier one."""
        return self.scored > 0 or self._reused_scores > 0

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
        failed = self.missing + self._withheld
        return Spending(spent=self.scored, reused=self.reused, failed=failed, cut=len(self._cut))

    @property
    def nothing(self) -> bool:
        """Whether rollouts were asked for, and not one has a score."""
        return bool(self.missing or self._withheld) and not self.succeeded

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
        if attempt.failure is not None and attempt.failure.kind not in SLOWING:
            self._count_failure(attempt.task_id, attempt.failure)

    def _count_failure(self, task: str, failure: RolloutFailure) -> None:
        self._failed_attempts[failure.kind] += 1
        self._example[failure.kind] = failure.message
        if failure.kind in CRASHES and not failure.lost:
            same = self._crashed.setdefault((failure.kind, normalized_message(failure.message, task)), {})
            same.setdefault(task, failure.message)

    def finished(self, rollout: Rollout) -> None:
        """Count one that has a score now, or is missing for good."""
        self._note(rollout)
        if rollout.failure is None:
            self.scored += 1
        else:
            self.missing += 1

    def withhold(self, rollout: Rollout) -> None:
        """Count a stored rollout whose score does not count here. It says nothing about the agent of this session."""
        self._note(rollout)
        self._withheld += 1

    def reuse(self, rollout: Rollout) -> None:
        """Count a request that an earlier rollout answers, or left without a score."""
        self.reused += 1
        if rollout.score is not None:
            self._note(rollout)
            self._reused_scores += 1

    def _note(self, rollout: Rollout) -> None:
        if rollout.ending is Ending.CUT:
            self._cut.add(rollout.key)
        if rollout.failure is not None:
            self._kinds[rollout.failure.kind] += 1
            self._example[rollout.failure.kind] = rollout.failure.message

    def verdict(self, options: RunnerOptions) -> Unavailable | None:
        """Too many missing: the agent or verifier is as good as unavailable, and going on would waste money."""
        finished = self.scored + self.missing
        hopeless = not self.scored and self.missing >= options.hopeless_after
        too_many = finished >= options.judged_after and self.missing > options.max_missing * finished
        return self.unavailable() if hopeless or too_many else None

    def same_crash(self) -> Unavailable | None:
        """The agent or verifier is broken: several tasks crashed the same way and nothing ever succeeded."""
        if self.succeeded:
            return None
        for (kind, _), tasks in self._crashed.items():
            if len(tasks) >= SAME_CRASHES:
                culprit = "verifier" if kind is FailureKind.VERIFIER else "agent"
                return Unavailable(
                    f"{len(tasks)} different tasks failed the same way (`{kind}`) and no rollout has succeeded: "
                    f"{next(iter(tasks.values())).rstrip('.')}.",
                    hint=f"Fix the {culprit} and run the same command again: it resumes.",
                )
        return None

    def explain(self, limit: BudgetReached) -> SkillSVError:
        """What to say about a limit that failed attempts used up: a higher limit would not help."""
        failed = self._failed_attempts.total()
        if not failed or (self.succeeded and 2 * failed <= self._ended):
            return limit
        kind, count = self._failed_attempts.most_common(1)[0]
        what = (
            f"{limit.what} {failed} of {self._ended} attempts failed, {count} of them as `{kind}`: "
            f"{self._example[kind].rstrip('.')}."
        )
        hint = "Everything that finished is kept. Fix the cause and run the same command again: it resumes."
        return BudgetReached(what, hint=hint) if self.succeeded else Unavailable(what, hint=hint)

    def unavailable(self) -> Unavailable:
        """The sentence for a run that ends because too little comes back."""
        kind, count = self._kinds.most_common(1)[0]
        missing = self.missing + self._withheld
        return Unavailable(
            f"{missing} of {self.scored + missing} rollouts have no score after all attempts; "
            f"{count} of them failed as `{kind}`: {self._example[kind]}",
            hint=f"Everything that finished is kept. {self._advice()}",
        )

    def _advice(self) -> str:
        if cut := self._kinds[FailureKind.CUT_ANSWER]:
            return (
                f"Answers cut by the token limit: {cut}. Raise --max-output-tokens, or score them as they are with "
                "--cut-answers score."
            )
        return "Fix the cause and run the same command again: it resumes."


def normalized_message(message: str, task: str) -> str:
    """The message without what differs from task to task: the task's name, paths, and words with digits."""
    without_task = re.sub(rf"(?<!\w){re.escape(task)}(?!\w)", "", message)
    return " ".join(word for word in without_task.split() if not _VARIABLE.search(word))
