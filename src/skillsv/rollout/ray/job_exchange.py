"""Jobs go to a worker, and answers come back, several in one call: a call costs the driver more than all else.

`JobExchange` is the driver's side, `AnswerQueue` the worker's. Imports no Ray.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from skillsv.errors import SkillSVError
from skillsv.model.rollout import FailureKind, Rollout, RolloutFailure
from skillsv.rollout.engine import MESSAGE_LIMIT
from skillsv.rollout.ray.transfer import PackedJob
from skillsv.sandbox.user_function import describe

GATHER_SECONDS = 0.002
"""Seconds that a worker waits for further answers before it returns the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCall:
    """A call to the worker failed, and with it the job."""

    error: BaseException


Answer = Rollout | RolloutFailure | SkillSVError | FailedCall | None
"""What becomes of a job. None: the worker does not keep all that the driver thinks it has, or the job was cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedJob:
    """A job as one worker knows it."""

    number: int
    job: PackedJob


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedAnswer:
    """The pickled answer to the job of this number."""

    number: int
    data: bytes


class JobExchange:
    """Sends jobs to one worker and hands out their answers.

    Jobs that come in one turn of the event loop are sent in one call. A call returns when the worker has answers, to
    whichever jobs. While the worker has jobs at least one call is under way, so that a worker that dies is noticed.
    """

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._numbers = 0
        self._unsent: list[NumberedJob] = []
        self._answers: dict[int, asyncio.Future[Answer]] = {}  # of jobs without an answer
        self._calls: set[asyncio.Future[Any]] = set()

    def start(self, job: PackedJob) -> tuple[int, asyncio.Future[Answer]]:
        """Send this job soon; returns its number and its future answer."""
        loop = asyncio.get_running_loop()
        self._numbers += 1
        if not self._unsent:
            loop.call_soon(self._send_unsent)
        self._unsent.append(NumberedJob(number=self._numbers, job=job))
        answer: asyncio.Future[Answer] = loop.create_future()
        self._answers[self._numbers] = answer
        return self._numbers, answer

    async def cancel(self, number: int) -> None:
        """Stop the job, and return when it has stopped."""
        if number not in self._answers:
            return
        unsent = [item for item in self._unsent if item.number == number]
        if unsent:
            self._unsent.remove(unsent[0])
            del self._answers[number]
            return
        # Whoever waited for the first future has cancelled it.
        stopped = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._actor.cancel.remote(number)
        await stopped

    def _send_unsent(self) -> None:
        batch, self._unsent = self._unsent, []
        if batch:
            self._call(batch)

    def _call(self, batch: Sequence[NumberedJob]) -> None:
        call = asyncio.ensure_future(self._actor.exchange.remote(tuple(batch)))
        self._calls.add(call)
        numbers = [item.number for item in batch]
        call.add_done_callback(lambda call: self._receive(call, numbers))

    def _receive(self, call: asyncio.Future[list[NumberedAnswer]], numbers: list[int]) -> None:
        self._calls.discard(call)
        if call.cancelled():
            return
        error = call.exception()
        if error is not None:
            self._fail(error, numbers)
            return
        for item in call.result():
            answer = self._answers.pop(item.number, None)
            if answer is not None and not answer.done():
                answer.set_result(_unpickled(item.data))
        if self._answers and not self._calls and not self._unsent:
            self._call(())

    def _fail(self, error: BaseException, numbers: list[int]) -> None:
        """The jobs of a failed call have failed; all jobs where it brought none that has no answer."""
        for number in [number for number in numbers if number in self._answers] or list(self._answers):
            answer = self._answers.pop(number)
            if not answer.done():
                answer.set_result(FailedCall(error=error))


class AnswerQueue:
    """Runs jobs on the worker, and collects their answers until a call of the driver returns them."""

    def __init__(self, run: Callable[[PackedJob], Awaitable[Rollout | SkillSVError | None]]) -> None:
        self._run = run
        self._running: dict[int, asyncio.Task[None]] = {}
        self._answers: list[NumberedAnswer] = []
        self._waiting: deque[asyncio.Future[None]] = deque()  # calls without an answer, the oldest first

    async def exchange(self, jobs: Sequence[NumberedJob]) -> list[NumberedAnswer]:
        """Start these jobs, and return the answers to any jobs as soon as there are some."""
        loop = asyncio.get_running_loop()
        for item in jobs:
            self._running[item.number] = loop.create_task(self._answer(item))
        while True:
            if not self._answers:
                waiter: asyncio.Future[None] = loop.create_future()
                self._waiting.append(waiter)
                await waiter
            await asyncio.sleep(GATHER_SECONDS)
            if self._answers:
                answers, self._answers = self._answers, []
                return answers

    def cancel(self, number: int) -> None:
        """Stop a job. Its answer says when it has stopped."""
        task = self._running.get(number)
        if task is not None:
            task.cancel()

    async def _answer(self, item: NumberedJob) -> None:
        data = pickle.dumps(None)
        try:
            data = pickle.dumps(await self._run(item.job))
        except Exception as error:  # noqa: BLE001 - the edge of a rollout: a lost object, an answer of any class
            data = pickle.dumps(_crash(error))
        finally:
            # Also when it was cancelled: the driver waits for that.
            del self._running[item.number]
            self._answers.append(NumberedAnswer(number=item.number, data=data))
            if self._waiting:
                self._waiting.popleft().set_result(None)


def _unpickled(data: bytes) -> Answer:
    try:
        answer: Answer = pickle.loads(data)  # noqa: S301 - written by a worker of this run
    except (pickle.UnpicklingError, ImportError, AttributeError, TypeError, ValueError) as error:
        return _crash(error)  # of a class that only the worker has
    return answer


def _crash(error: Exception) -> RolloutFailure:
    return RolloutFailure(kind=FailureKind.CRASH, message=describe(error)[:MESSAGE_LIMIT])
