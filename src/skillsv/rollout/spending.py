"""The spending tracker: what one session has spent, and the errors for a run that loses too many rollouts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from skillsv.errors import BudgetReached, SkillSVError, Unavailable
from skillsv.model.rollout import Ending, FailureKind, Rollout, RolloutFailure, RolloutKey, Usage
from skillsv.model.value import Spending
from skillsv.rollout.pacing import OVERLOAD_KINDS
from skillsv.rollout.run_control import RunnerOptions
from skillsv.rollout.stop_rules import Progress

SAME_CRASHES = 3
"""The agent or verifier is taken for broken after the same crash on so many different tasks, without a success."""

CRASHES = frozenset(
    {
        FailureKind.CRASH,
        FailureKind.BAD_REQUEST,
        FailureKind.BAD_OUTPUT,
        FailureKind.VERIFIER,
        FailureKind.SANDBOX,
    }
)
"""Failures that a broken agent or verifier repeats on every task; a busy service or a slow network is another case."""

_DIGIT_OR_PATH = re.compile(r"[\d/\\]")


class SpendingTracker:
    """Counts attempts, rollouts, usage, time and failures of one session. Counts never decrease.

    `scored` and `missing` are rollouts of this session with and without a score; `reused` are answers from earlier
    rollouts. A withheld rollout is a stored one whose score does not count in this session.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.attempts = 0
        self.scored = 0
        self.missing = 0
        self.reused = 0
        self._reused_scores = 0
        self._withheld = 0
        self._ended_attempts = 0
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
    def all_missing(self) -> bool:
        """Whether rollouts were requested, and not one has a score."""
        return bool(self.missing or self._withheld) and not self.succeeded

    def progress(self, pending: int) -> Progress:
        """What stop rules read; so many pending rollouts count at the average usage of the finished attempts."""
        return Progress(attempts=self.attempts, usage=self._projected_usage(pending), seconds=self.seconds)

    def _projected_usage(self, pending: int) -> Usage:
        if not self._ended_attempts or not pending:
            return self.usage
        factor = 1.0 + pending / self._ended_attempts
        input_tokens, output_tokens, usd = self.usage.input_tokens, self.usage.output_tokens, self.usage.usd
        return Usage(
            input_tokens=None if input_tokens is None else int(input_tokens * factor),
            output_tokens=None if output_tokens is None else int(output_tokens * factor),
            usd=None if usd is None else usd * factor,
        )

    def count_attempt(self, attempt: Rollout) -> None:
        """Count what one attempt used, failed or not: it is paid before the rollout is saved."""
        self._ended_attempts += 1
        self.usage += attempt.usage
        if attempt.failure is not None and attempt.failure.kind not in OVERLOAD_KINDS:
            self._count_failure(attempt.task_id, attempt.failure)

    def _count_failure(self, task: str, failure: RolloutFailure) -> None:
        self._failed_attempts[failure.kind] += 1
        self._example[failure.kind] = failure.message
        if failure.kind in CRASHES and not failure.lost:
            same = self._crashed.setdefault((failure.kind, normalized_message(failure.message, task)), {})
            same.setdefault(task, failure.message)

    def count_finished(self, rollout: Rollout) -> None:
        """Count a rollout that has a score now, or is missing for good."""
        self._count_kind(rollout)
        if rollout.failure is None:
            self.scored += 1
        else:
            self.missing += 1

    def count_withheld(self, rollout: Rollout) -> None:
        """Count a stored rollout whose score does not count here. It says nothing about the agent of this session."""
        self._count_kind(rollout)
        self._withheld += 1

    def count_reused(self, rollout: Rollout) -> None:
        """Count a request that an earlier rollout answers, or left without a score."""
        self.reused += 1
        if rollout.score is not None:
            self._count_kind(rollout)
            self._reused_scores += 1

    def _count_kind(self, rollout: Rollout) -> None:
        if rollout.ending is Ending.CUT:
            self._cut.add(rollout.key)
        if rollout.failure is not None:
            self._kinds[rollout.failure.kind] += 1
            self._example[rollout.failure.kind] = rollout.failure.message

    def too_many_missing(self, options: RunnerOptions) -> Unavailable | None:
        """The error for a run with too many missing rollouts: to go on would waste money. None if they are few."""
        finished = self.scored + self.missing
        none_scored = not self.scored and self.missing >= options.max_failures_at_start
        too_many = finished >= options.judge_missing_after and self.missing > options.max_missing * finished
        return self.unavailable() if none_scored or too_many else None

    def repeated_crash(self) -> Unavailable | None:
        """The error for a broken agent or verifier: several tasks crashed the same way and no rollout succeeded."""
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

    def explain_limit(self, limit: BudgetReached) -> SkillSVError:
        """The error for a limit that was reached; where failed attempts used it up, a higher limit would not help."""
        failed = self._failed_attempts.total()
        if not failed or (self.succeeded and 2 * failed <= self._ended_attempts):
            return limit
        kind, count = self._failed_attempts.most_common(1)[0]
        what = (
            f"{limit.what} {failed} of {self._ended_attempts} attempts failed, {count} of them as `{kind}`: "
            f"{self._example[kind].rstrip('.')}."
        )
        hint = "Everything that finished is kept. Fix the cause and run the same command again: it resumes."
        return BudgetReached(what, hint=hint) if self.succeeded else Unavailable(what, hint=hint)

    def unavailable(self) -> Unavailable:
        """The error for a run in which too many rollouts have no score."""
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
    """The message without the parts that differ between tasks: the task's name, paths, and words with digits."""
    without_task = re.sub(rf"(?<!\w){re.escape(task)}(?!\w)", "", message)
    return " ".join(word for word in without_task.split() if not _DIGIT_OR_PATH.search(word))
