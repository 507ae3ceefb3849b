"""An engine executes one rollout: workspace, agent, verifier. A crash becomes a recorded failure, never a score of 0.

The scheduler knows only the protocol `Engine`. A `Job` is plain data, so an engine may send it to another machine.
"""

from __future__ import annotations

import errno
import math
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import anyio
import anyio.to_thread

from skillsv.errors import AgentFailure, RolloutError, SkillSVError, VerifierFailure
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.rollout import Ending, FailureKind, Outcome, Rollout, RolloutFailure, RolloutKey, Usage
from skillsv.model.task import Task
from skillsv.model.usage_meter import meter_usage
from skillsv.rollout.pacing import OVERLOAD_KINDS, backoff
from skillsv.sandbox.left_folders import remove_left_folders
from skillsv.sandbox.redaction import redact, redact_error
from skillsv.sandbox.workspace import fresh_workspace, remove_agent_links

VERIFIER_ATTEMPTS = 3
"""How often a verifier is called for one answer."""

BUSY_ATTEMPTS = 6
"""How often a judge is called for one answer while its service is busy or cannot be reached."""

BUSY_KINDS = frozenset({*OVERLOAD_KINDS, FailureKind.CONNECTION})
"""Failures of a judge after which waiting helps."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before a busy judge is called again: they double from the first to the longest."""

MESSAGE_LIMIT = 2000
"""Characters of a failure's message that are kept: enough to see the cause, too few to fill the ledger."""

CUT = "the token limit (--max-output-tokens) cut the answer."
"""The message of a rollout whose answer was cut."""

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
"""Error numbers of a disk that is full or cannot be written."""

OpenWorkspace = Callable[[Task], AbstractAsyncContextManager[Path]]
"""Makes a fresh folder holding the task's files, and removes it afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One rollout to execute: everything that an engine needs, on this machine or another.

    `timeout`: seconds that the agent may take, and each call of the verifier.
    `alone`: its workers died more than once; it may be the cause, so no other rollout should share its worker.
    `score_cut`: an answer that the token limit cut is scored as it is; otherwise it is a failure.
    """

    key: RolloutKey
    skill: Rendering
    task: Task
    timeout: float | None = None
    alone: bool = False
    score_cut: bool = False


class Engine(Protocol):
    """Executes rollouts. An implementation has these duties.

    1. `run` always returns: a score, or a failure with its kind. It calls a verifier that fails again, so that the
       agent's answer is not paid twice; the scheduler retries everything else.
    2. Cancelling `run` stops the agent, wherever it runs, so that it spends no more.
    3. An error that no retry can repair (a setting, a missing key) is raised as a `SkillSVError` and ends the run.
    4. `slots` is how many jobs it can run at the same time now (at least one); None is no limit.
    5. It is opened before the first job and closed after the last: `async with engine:`.
    """

    @property
    def slots(self) -> int | None:
        """How many jobs it can run at the same time now; None is no limit."""

    async def run(self, job: Job) -> Rollout:
        """Execute one job."""

    async def __aenter__(self) -> Self:
        """Get ready for jobs."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release everything."""


@runtime_checkable
class GrowingEngine(Protocol):
    """An engine whose `slots` may increase while it works."""

    def call_on_growth(self, callback: Callable[[], None]) -> None:
        """Call `callback` whenever `slots` may have increased."""


class LocalEngine:
    """Runs the agent and the verifier in this process."""

    def __init__(
        self,
        agent: Agent,
        verifier: Verifier,
        *,
        workspace: OpenWorkspace = fresh_workspace,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._agent = agent
        self._verifier = verifier
        self._workspace = workspace
        self._clock = clock
        self._sleep = sleep

    @property
    def slots(self) -> int | None:
        """No limit."""
        return None

    async def __aenter__(self) -> Self:
        await anyio.to_thread.run_sync(remove_left_folders)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def run(self, job: Job) -> Rollout:
        """Execute one job. This is the one place where any exception of an agent or verifier becomes a failure."""
        started = self._clock()
        attempt = _Attempt(Rollout(key=job.key, task_id=job.task.id, score=None))
        failure: RolloutFailure | None = None
        try:
            await self._attempt(job, attempt)
        except (Exception, SystemExit) as error:
            if not attempt.scored:  # a score is paid for: an error after it, say of the workspace, loses nothing
                failure = failure_of(error, verifying=attempt.verifying)
                if failure is None:
                    if isinstance(error, SkillSVError):
                        redact_error(error)
                    raise
                attempt.add_usage(_usage_of(error))
        # A clock that jumps back must not make time negative.
        return attempt.finish(failure, duration=max(0.0, self._clock() - started))

    async def _attempt(self, job: Job, attempt: _Attempt) -> None:
        skill = None if job.skill.empty else job.skill
        async with _removed_within(job.timeout, self._workspace(job.task)) as workspace:
            with anyio.move_on_after(job.timeout) as limit:
                outcome = _redact_outcome(await self._agent.run(skill, job.task, job.key.replicate, workspace))
            if limit.cancelled_caught:
                raise AgentFailure(
                    f"no answer to task {job.task.id} within {job.timeout:g} s.", kind=FailureKind.TIMEOUT
                )
            attempt.add_answer(outcome)
            if outcome.ending is Ending.CUT and not job.score_cut:
                raise AgentFailure(CUT, kind=FailureKind.CUT_ANSWER)
            await remove_agent_links(workspace)
            with meter_usage() as judges:
                try:
                    score = await self._score(job, outcome, workspace)
                finally:
                    attempt.add_judges(judges.usage)
            attempt.rollout = replace(attempt.rollout, score=score)

    async def _score(self, job: Job, outcome: Outcome, workspace: Path) -> float:
        """The score. A verifier that fails is called again: the answer is paid for, so the agent does not run again.

        In the end every failure has the kind `VERIFIER`: for this kind the scheduler does not run the agent again.
        """
        attempt = 0
        seconds = math.inf if job.timeout is None else VERIFIER_ATTEMPTS * job.timeout
        deadline = anyio.current_time() + seconds
        while True:
            attempt += 1
            try:
                return await self._call_verifier(job, outcome, workspace)
            except (Exception, SystemExit) as error:
                failure = failure_of(error, verifying=True)
                if failure is None:
                    raise
                wait = _wait_after(failure, job.key, attempt)
                if attempt >= _attempts_after(failure) or anyio.current_time() + wait > deadline:
                    raise VerifierFailure(failure.message) from error
            if wait:
                await self._sleep(wait)

    async def _call_verifier(self, job: Job, outcome: Outcome, workspace: Path) -> float:
        with anyio.move_on_after(job.timeout) as limit:
            score = await self._verifier.score(job.task, outcome, workspace)
        if limit.cancelled_caught:
            raise VerifierFailure(f"the verifier of task {job.task.id} did not return within {job.timeout:g} s.")
        if not _is_score(score):
            raise VerifierFailure(f"the verifier of task {job.task.id} returned {score!r}, no score between 0 and 1.")
        return float(score)


@asynccontextmanager
async def _removed_within(seconds: float | None, opened: AbstractAsyncContextManager[Path]) -> AsyncIterator[Path]:
    """The workspace. Its removal is abandoned after the time limit: a score that is paid for does not wait for it."""
    workspace = await opened.__aenter__()
    try:
        yield workspace
    finally:
        with anyio.move_on_after(seconds):
            await opened.__aexit__(*sys.exc_info())


@dataclass(slots=True)
class _Attempt:
    """A rollout while it is executed. Answer and usage of the agent are kept whatever the verifier does."""

    rollout: Rollout
    verifying: bool = False

    @property
    def scored(self) -> bool:
        return self.rollout.score is not None

    def add_answer(self, outcome: Outcome) -> None:
        self.rollout = replace(
            self.rollout,
            usage=outcome.usage,
            answer=outcome.answer,
            transcript=outcome.transcript,
            opened=outcome.opened,
            ending=outcome.ending,
        )
        self.verifying = True

    def add_usage(self, usage: Usage | None) -> None:
        """Add what a failed agent spent before it failed."""
        if usage is not None:
            self.rollout = replace(self.rollout, usage=self.rollout.usage + usage)

    def add_judges(self, usage: Usage) -> None:
        """Add what judges used. The cost stays unknown where the agent does not report its own."""
        total = self.rollout.usage + usage
        known = self.rollout.usage.usd is not None
        self.rollout = replace(self.rollout, usage=total if known else replace(total, usd=None))

    def finish(self, failure: RolloutFailure | None, *, duration: float) -> Rollout:
        score = self.rollout.score if failure is None else None
        return replace(self.rollout, score=score, failure=failure, duration=duration)


def _attempts_after(failure: RolloutFailure) -> int:
    """How often a verifier that failed like this is called."""
    if failure.kind in BUSY_KINDS:
        return BUSY_ATTEMPTS
    return VERIFIER_ATTEMPTS if failure.kind is FailureKind.VERIFIER or failure.kind.worth_retrying else 1


def _wait_after(failure: RolloutFailure, key: RolloutKey, attempt: int) -> float:
    """Seconds before a verifier that failed like this is called again."""
    if failure.kind not in BUSY_KINDS:
        return 0.0
    return backoff(key, attempt, failure, base=FIRST_WAIT, cap=LONGEST_WAIT, seed=0)


def longest_rollout(timeout: float) -> float:
    """Seconds that a rollout may take: the agent once, the verifier with its waits, and its last call."""
    return (2 + VERIFIER_ATTEMPTS) * timeout


def _redact_outcome(outcome: Outcome) -> Outcome:
    """The outcome without secrets in its texts: verifiers and judges do not see them either."""
    transcript = None if outcome.transcript is None else redact(outcome.transcript)
    return replace(outcome, answer=redact(outcome.answer), transcript=transcript)


def _is_score(score: object) -> bool:
    return isinstance(score, (int, float)) and math.isfinite(score) and 0.0 <= score <= 1.0


def failure_of(error: BaseException, *, verifying: bool = False) -> RolloutFailure | None:
    """The exception as a failure of the rollout; None where it concerns the whole run."""
    error = unwrap_group(error)
    if isinstance(error, RolloutError):
        return RolloutFailure(kind=_kind(error.kind), message=_message(str(error)), retry_after=error.retry_after)
    if isinstance(error, SkillSVError):
        return None
    kind = _kind_of(error)
    if verifying and kind is FailureKind.CRASH:
        kind = FailureKind.VERIFIER
    return RolloutFailure(kind=kind, message=_message(f"{type(error).__name__}: {error}"))


def _message(text: str) -> str:
    """The message of a failure: without secrets, and not too long."""
    return redact(text)[:MESSAGE_LIMIT]


def _usage_of(error: BaseException) -> Usage | None:
    """The usage that the failed agent reports."""
    error = unwrap_group(error)
    return error.usage if isinstance(error, RolloutError) and isinstance(error.usage, Usage) else None


def unwrap_group(error: BaseException) -> BaseException:
    """The exception itself, where task groups have wrapped a single one."""
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
