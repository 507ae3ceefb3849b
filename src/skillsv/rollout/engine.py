"""What executes one rollout: workspace, agent, verifier. Here a crash becomes a recorded failure, never a zero.

The runner knows only the protocol. An engine that sends jobs to other machines fits behind it: a `Job` is plain data.
"""

from __future__ import annotations

import errno
import math
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import anyio

from skillsv.errors import AgentFailure, RolloutError, SkillSVError, VerifierFailure
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.rollout import Ending, FailureKind, Outcome, Rollout, RolloutFailure, RolloutKey, Usage
from skillsv.model.task import Task
from skillsv.sandbox.workspace import fresh_workspace

VERIFIER_TRIES = 3
"""How often a verifier is asked about one answer."""

MESSAGE_LIMIT = 2000
"""Characters of a failure's message that are kept: enough to see the cause, too few to fill the ledger."""

CUT = "the token limit (--max-output-tokens) cut the answer."

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})

OpenWorkspace = Callable[[Task], AbstractAsyncContextManager[Path]]
"""Makes a fresh folder holding the task's files, and removes it afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One rollout to execute: everything an engine needs, on this machine or another. `timeout` in seconds.

    `alone`: what ran it has died more than once; it may be the cause, and should not take others with it. `score_cut`:
    an answer that the token limit cut is scored as it is; otherwise it is a failure.
    """

    key: RolloutKey
    skill: Rendering
    task: Task
    timeout: float | None = None
    alone: bool = False
    score_cut: bool = False


class Engine(Protocol):
    """Executes rollouts, and what its implementer owes.

    1. `run` always returns: a score, or a failure with its kind. It retries nothing; the runner does, from the ledger.
    2. Cancelling `run` stops the agent, wherever it runs, so that it spends no more.
    3. An error that no retry can mend (a setting, a missing key) is raised as a `SkillSVError` and ends the run.
    4. `slots` is how many jobs it can take at once now (at least one), None for as many as asked.
    5. It is opened before the first job and closed after the last: `async with engine:`.
    """

    @property
    def slots(self) -> int | None:
        """How many jobs it can take at once now."""

    async def run(self, job: Job) -> Rollout:
        """Execute one job."""

    async def __aenter__(self) -> Self:
        """Make ready."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of everything."""


@runtime_checkable
class Elastic(Protocol):
    """An engine that may grow while it works."""

    def follow(self, more_room: Callable[[], None]) -> None:
        """Have `more_room` called whenever `slots` may have grown."""


class LocalEngine:
    """Runs the agent and the verifier in this process."""

    def __init__(
        self,
        agent: Agent,
        verifier: Verifier,
        *,
        workspace: OpenWorkspace = fresh_workspace,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._agent = agent
        self._verifier = verifier
        self._workspace = workspace
        self._clock = clock

    @property
    def slots(self) -> int | None:
        """As many as asked."""
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def run(self, job: Job) -> Rollout:
        """The one place where any exception of an agent or verifier becomes a failure of its rollout."""
        started = self._clock()
        attempt = _Attempt(Rollout(key=job.key, task_id=job.task.id, score=None))
        failure: RolloutFailure | None = None
        try:
            with anyio.move_on_after(job.timeout) as limit:
                await self._attempt(job, attempt)
            if limit.cancelled_caught:
                failure = _too_late(job)
        except (Exception, SystemExit) as error:
            failure = failure_of(error, verifying=attempt.verifying)
            if failure is None:
                raise
            attempt.paid(_usage_of(error))
        # A clock that jumps back must not make time negative.
        return attempt.ended(failure, duration=max(0.0, self._clock() - started))

    async def _attempt(self, job: Job, attempt: _Attempt) -> None:
        skill = None if job.skill.empty else job.skill
        async with self._workspace(job.task) as workspace:
            outcome = await self._agent.run(skill, job.task, job.key.replicate, workspace)
            attempt.answered(outcome)
            if outcome.ending is Ending.CUT and not job.score_cut:
                raise AgentFailure(CUT, kind=FailureKind.CUT_ANSWER)
            attempt.rollout = replace(attempt.rollout, score=await self._verified(job, outcome, workspace))

    async def _verified(self, job: Job, outcome: Outcome, workspace: Path) -> float:
        """The score. A verifier that fails is asked again here: the answer is paid for, the agent is not run again."""
        for tries_left in reversed(range(VERIFIER_TRIES)):
            try:
                score = await self._verifier.score(job.task, outcome, workspace)
            except VerifierFailure:
                if not tries_left:
                    raise
                continue
            if _is_score(score):
                return float(score)
            break
        raise VerifierFailure(f"the verifier of task {job.task.id} returned {score!r}, no score between 0 and 1.")


@dataclass(slots=True)
class _Attempt:
    """How far a rollout got. Once the agent has answered, answer and usage are kept whatever the verifier does."""

    rollout: Rollout
    verifying: bool = False

    def answered(self, outcome: Outcome) -> None:
        self.rollout = replace(
            self.rollout,
            usage=outcome.usage,
            answer=outcome.answer,
            transcript=outcome.transcript,
            opened=outcome.opened,
            ending=outcome.ending,
        )
        self.verifying = True

    def paid(self, usage: Usage | None) -> None:
        """Keep what a failed agent spent before it failed."""
        if usage is not None:
            self.rollout = replace(self.rollout, usage=self.rollout.usage + usage)

    def ended(self, failure: RolloutFailure | None, *, duration: float) -> Rollout:
        score = self.rollout.score if failure is None else None
        return replace(self.rollout, score=score, failure=failure, duration=duration)


def _is_score(score: object) -> bool:
    return isinstance(score, (int, float)) and math.isfinite(score) and 0.0 <= score <= 1.0


def _too_late(job: Job) -> RolloutFailure:
    return RolloutFailure(
        kind=FailureKind.TIMEOUT, message=f"no answer to task {job.task.id} within {job.timeout:g} s."
    )


def failure_of(error: BaseException, *, verifying: bool = False) -> RolloutFailure | None:
    """How this exception counts: a failure of the rollout, or None where it concerns the whole run."""
    error = _only(error)
    if isinstance(error, RolloutError):
        return RolloutFailure(kind=_kind(error.kind), message=str(error)[:MESSAGE_LIMIT], retry_after=error.retry_after)
    if isinstance(error, SkillSVError):
        return None
    kind = _kind_of(error)
    if verifying and kind is FailureKind.CRASH:
        kind = FailureKind.VERIFIER
    return RolloutFailure(kind=kind, message=f"{type(error).__name__}: {error}"[:MESSAGE_LIMIT])


def _usage_of(error: BaseException) -> Usage | None:
    """What the failed agent says that it spent."""
    error = _only(error)
    return error.usage if isinstance(error, RolloutError) and isinstance(error.usage, Usage) else None


def _only(error: BaseException) -> BaseException:
    """The one exception of a group of one, which task groups wrap around what happened in them."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _kind_of(error: BaseException) -> FailureKind:
    match error:
        case TimeoutError():
            return FailureKind.TIMEOUT
        case ConnectionError():
            return FailureKind.CONNECTION
        case OSError(errno=number) if number in DISK_ERRORS:
            return FailureKind.DISK
        case _:
            return FailureKind.CRASH


def _kind(name: str) -> FailureKind:
    return FailureKind(name) if name in FailureKind._value2member_map_ else FailureKind.CRASH
