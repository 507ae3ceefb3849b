"""Runs policies: renders what they ask for, takes from the ledger what is there, and pays for the rest, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

import anyio
from anyio.lowlevel import checkpoint

from skillsv.errors import BudgetReached, Interrupted, SkillSVError, TaskError
from skillsv.model.coalition import ChainRecord, Coalition, Operator, Rendering
from skillsv.model.events import ChainFinished
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Answers, Ending, FailureKind, Request, Rollout, RolloutFailure, RolloutKey, Usage
from skillsv.model.task import Task
from skillsv.model.value import Spending
from skillsv.rollout.chain_policy import Policy
from skillsv.rollout.engine import CUT, Engine, Job
from skillsv.rollout.ledger import Detail, Ledger
from skillsv.rollout.run_control import RunnerOptions, Stop, Timing
from skillsv.rollout.scheduler import PendingRollout, Scheduler, finished_event

T = TypeVar("T")
Render = Callable[[Coalition, Operator], Rendering]


class _Stopped(Exception):  # noqa: N818, RUF100
    """A policy needs a rollout that a stopping run will not start."""


class Runner:
    """Answers the requests of policies. Spending, budget and failures count over all calls of `run_policies`."""

    def __init__(  # noqa: PLR0917 - the parts a run is made of, in the order they act
        self,
        engine: Engine,
        ledger: Ledger,
        render: Render,
        tasks: Mapping[str, Task],
        agent_fingerprint: str,
        options: RunnerOptions,
        listener: Listener,
        *,
        stop: Stop | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._ledger = ledger
        self._tasks = tasks
        self._agent = agent_fingerprint
        self._options = options
        self._listener = listener
        self._stop = stop or Stop()
        self._render: Render = lru_cache(maxsize=options.renderings)(render)
        self._dispatcher = Scheduler(
            engine=engine,
            ledger=ledger,
            job_of=self._job,
            options=options,
            listener=listener,
            timing=timing or Timing(),
        )
        self._sequence = 0

    @property
    def spending(self) -> Spending:
        """What this session ran, reused and could not get."""
        return self._dispatcher.tally.spending

    @property
    def usage(self) -> Usage:
        """Tokens and money of this session."""
        return self._dispatcher.tally.usage

    def tree(self, coalition: Coalition, operator: Operator) -> str:
        """The digest of what this coalition renders to."""
        return self._render(coalition, operator).digest

    def detail(self, request: Request) -> Detail | None:
        """Answer and transcript of a rollout that was run, None where there is none."""
        return self._ledger.detail(self._key(request))

    async def run_policies(
        self, policies: Iterable[Policy[T]], on_result: Callable[[int, T], None] | None = None
    ) -> list[T]:
        """Run all policies to their ends, many at once; `on_result` gets each result as it comes.

        Earlier policies go first where there is not room for all. A limit, an interruption or an agent that keeps
        failing ends the run with its error, after everything in flight has finished and is saved.
        """
        results: dict[int, T] = {}

        def deliver(index: int, result: T) -> None:
            results[index] = result
            if isinstance(result, ChainRecord):
                self._listener(_chain_finished(result))
            if on_result is not None:
                on_result(index, result)

        unfollow = self._stop.follow(self._dispatcher.follow_stop)
        if self._stop.level:
            self._dispatcher.follow_stop(1)
        try:
            started = await self._run_saving(policies, deliver)
        except BaseExceptionGroup as group:
            raise _only(group) from None
        finally:
            unfollow()
        self._judge(complete=len(results) == started)
        return [results[index] for index in sorted(results)]

    def _judge(self, *, complete: bool) -> None:
        """Raise what ended the run early. An interruption that came too late to leave anything out is none."""
        halted, tally = self._dispatcher.halted, self._dispatcher.tally
        if halted is not None and not (complete and isinstance(halted, Interrupted)):
            raise tally.explain(halted) if isinstance(halted, BudgetReached) else halted
        if tally.nothing:
            raise tally.unavailable()

    async def _run_saving(self, policies: Iterable[Policy[T]], deliver: Callable[[int, T], None]) -> int:
        started = 0
        self._dispatcher.open()
        async with anyio.create_task_group() as saving:
            saving.start_soon(self._dispatcher.save_all)
            try:
                started = await self._run_all(policies, deliver)
            finally:
                self._dispatcher.close()
        return started

    async def _run_all(self, policies: Iterable[Policy[T]], deliver: Callable[[int, T], None]) -> int:
        """Drive the policies, as many at once as there are jobs: each live one has at least one rollout to run."""
        started = 0
        async with anyio.create_task_group() as running:
            self._dispatcher.work_in(running)
            live = anyio.Semaphore(self._options.jobs)
            for index, policy in enumerate(policies):
                await live.acquire()
                running.start_soon(self._drive, index, policy, deliver, live)
                started += 1
        return started

    async def _drive(
        self, index: int, policy: Policy[T], deliver: Callable[[int, T], None], live: anyio.Semaphore
    ) -> None:
        try:
            deliver(index, await self._result(index, policy))
        except _Stopped:
            return
        except SkillSVError as error:
            self._dispatcher.halt(error)
        finally:
            policy.close()
            live.release()

    async def _result(self, index: int, policy: Policy[T]) -> T:
        try:
            requests = next(policy)
            while True:
                requests = policy.send(await self._answers(index, requests))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _answers(self, index: int, requests: tuple[Request, ...]) -> Answers:
        """Scores of all requests: from the ledger, from a rollout already on its way, or from a new one."""
        keys = {request: self._key(request) for request in requests}
        flights, given_up = self._dispatcher.in_flight, self._dispatcher.given_up
        found = self._stored(key for key in dict.fromkeys(keys.values()) if key not in flights and key not in given_up)
        own: list[PendingRollout] = []
        waiting: dict[Request, PendingRollout] = {}
        answers: dict[Request, float | None] = {}
        for request, key in keys.items():
            if key in found:
                answers[request] = self._reuse(request, found[key])
            elif key in given_up:
                missing = Rollout(key=key, task_id=request.task, score=None, failure=given_up[key])
                answers[request] = self._reuse(request, missing)
            elif key in flights:
                waiting[request] = flights[key]
            else:
                own.append(self._flight(index, request, key))
                waiting[request] = flights[key] = own[-1]
        self._dispatcher.submit(own)
        await checkpoint()
        for request, flight in waiting.items():
            answers[request] = await self._landed(request, flight)
        return answers

    def _stored(self, keys: Iterable[RolloutKey]) -> dict[RolloutKey, Rollout]:
        """What the ledger has. A cut answer that an earlier run scored is missing where such answers do not count."""
        found = self._ledger.lookup(keys)
        if self._options.score_cut:
            return found
        failure = RolloutFailure(kind=FailureKind.CUT_ANSWER, message=CUT)
        for key in [key for key, rollout in found.items() if rollout.ending is Ending.CUT]:
            self._dispatcher.given_up[key] = failure
            self._dispatcher.tally.withhold(replace(found.pop(key), score=None, failure=failure))
        return found

    async def _landed(self, request: Request, flight: PendingRollout) -> float | None:
        if not flight.done.is_set():
            await flight.done.wait()
        if flight.abandoned or flight.rollout is None:
            raise _Stopped
        if request is not flight.request:
            return self._reuse(request, flight.rollout)
        return flight.rollout.score

    def _reuse(self, request: Request, rollout: Rollout) -> float | None:
        self._dispatcher.tally.reuse(rollout)
        self._listener(finished_event(request, rollout, reused=True))
        return rollout.score

    def _flight(self, index: int, request: Request, key: RolloutKey) -> PendingRollout:
        self._sequence += 1
        return PendingRollout(request=request, key=key, rank=(index, self._sequence))

    def _key(self, request: Request) -> RolloutKey:
        tree = self._render(request.coalition, request.operator).digest
        return RolloutKey(tree=tree, task=self._task(request).digest, agent=self._agent, replicate=request.replicate)

    def _task(self, request: Request) -> Task:
        task = self._tasks.get(request.task)
        if task is None:
            raise TaskError(f"there is no task {request.task!r} in the panel.")
        return task

    def _job(self, flight: PendingRollout) -> Job:
        request = flight.request
        return Job(
            key=flight.key,
            # Rendered again if need be: a long queue must not hold the trees of all that wait in it.
            skill=self._render(request.coalition, request.operator),
            task=self._task(request),
            timeout=self._options.timeout,
            alone=flight.suspect,
            score_cut=self._options.score_cut,
        )


def _only(error: BaseException) -> BaseException:
    """The one error that a task group wrapped, so that callers can name what they catch."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _chain_finished(record: ChainRecord) -> ChainFinished:
    return ChainFinished(
        index=record.plan.index, evaluated=len(record.steps), truncated=record.truncated_at is not None
    )
