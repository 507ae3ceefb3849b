"""The runner answers the requests of policies: from the ledger if it can, else by a new rollout, paid once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from skillsv.errors import BudgetReached, Interrupted, SkillSVError, TaskError
from skillsv.model.coalition import ChainRecord, Coalition, Operator, Rendering
from skillsv.model.events import ChainFinished
from skillsv.model.protocols import Listener
from skillsv.model.rollout import (
    RECHECK,
    Ending,
    FailureKind,
    Request,
    RequestBatch,
    Rollout,
    RolloutFailure,
    RolloutKey,
    Usage,
)
from skillsv.model.task import Task
from skillsv.model.value import Spending
from skillsv.rollout.chain_policy import Policy
from skillsv.rollout.durations import TaskDurations
from skillsv.rollout.engine import CUT, Engine, Job, unwrap_group
from skillsv.rollout.ledger import Detail, Ledger
from skillsv.rollout.pending import PendingRollout
from skillsv.rollout.run_control import RunnerOptions, Stop, Timing
from skillsv.rollout.run_group import RunGroup
from skillsv.rollout.scheduler import Scheduler, finished_event

T = TypeVar("T")


class Render(Protocol):
    """Renders a coalition, by request under a null change (see `Request`)."""

    def __call__(self, coalition: Coalition, operator: Operator, null_change: int = 0, /) -> Rendering:
        """The files of the coalition."""
        ...


class _Stopped(Exception):  # noqa: N818, RUF100
    """A policy needs a rollout that a stopping run will not start."""


class Runner:
    """Answers the requests of policies. Spending, budget and failures count over all calls of `run_policies`.

    `require_unchanged` raises SkillSVError where the agent is not the one of the fingerprint any more: it is called
    before each save, and nothing more is saved then. `runs` are the runs that share slots and budget with this one;
    `options.jobs` and `options.budget` are theirs then.
    """

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
        require_unchanged: Callable[[], None] = lambda: None,
        runs: RunGroup | None = None,
    ) -> None:
        self._ledger = ledger
        self._tasks = tasks
        self._agent = agent_fingerprint
        self._options = options
        self._listener = listener
        self._stop = stop or Stop()
        self._render: Render = lru_cache(maxsize=options.renderings)(render)
        self._scheduler = Scheduler(
            engine=engine,
            ledger=ledger,
            job_of=self._job,
            options=options,
            listener=listener,
            timing=timing or Timing(),
            require_unchanged=require_unchanged,
            runs=runs,
        )
        self._durations = TaskDurations(ledger.durations(agent_fingerprint))
        self._sequence = 0

    @property
    def spending(self) -> Spending:
        """How many rollouts this session ran, reused and lost."""
        return self._scheduler.spending.spending

    @property
    def usage(self) -> Usage:
        """Tokens and money of this session."""
        return self._scheduler.spending.usage

    @property
    def attempts(self) -> int:
        """The attempts of this session; a retry is one more. They count towards a limit of rollouts."""
        return self._scheduler.spending.attempts

    def tree(self, coalition: Coalition, operator: Operator) -> str:
        """The digest of what this coalition renders to."""
        return self._render(coalition, operator).digest

    def detail(self, request: Request) -> Detail | None:
        """Answer and transcript of a rollout that was run, None where there is none."""
        return self._ledger.detail(self._key(request))

    def opened(self, request: Request) -> bool | None:
        """Whether the agent opened the skill in a rollout that was run; None where that is unknown."""
        key = self._key(request)
        stored = self._ledger.lookup([key], counted=False).get(key)
        return None if stored is None else stored.opened

    def stored_scores(self, requests: Iterable[Request]) -> dict[Request, float]:
        """The scores of those requests whose rollouts are in the ledger. They do not count as reused."""
        return {
            request: rollout.score
            for request, rollout in self._stored_by_request(requests).items()
            if rollout.score is not None and rollout.ending is Ending.ANSWERED
        }

    def stored_rollouts(self, requests: Iterable[Request]) -> list[Rollout]:
        """The scored rollouts of these requests that the ledger holds. They do not count as reused."""
        return list(self._ledger.lookup([self._key(request) for request in requests], counted=False).values())

    def known_answers(self, requests: Iterable[Request]) -> dict[Request, float | None]:
        """The scores of those requests that need no rollout. They do not count as reused."""
        return {
            request: rollout.score
            for request, rollout in self._stored_by_request(requests).items()
            if self._options.score_cut or rollout.ending is not Ending.CUT
        }

    def _stored_by_request(self, requests: Iterable[Request]) -> dict[Request, Rollout]:
        """The scored rollouts of those requests that the ledger holds."""
        keys = {request: self._key(request) for request in requests}
        stored = self._ledger.lookup(keys.values(), counted=False)
        return {request: stored[key] for request, key in keys.items() if key in stored}

    def drop_copies(self) -> None:
        """Remove the rollouts that were taken over unchecked for this agent."""
        self._ledger.drop_copies(self._agent)

    def name_repeats(self) -> str:
        """A name for repeats of stored rollouts that no earlier session has used."""
        return str(self._ledger.summary().attempts)

    async def run_policies(
        self, policies: Iterable[Policy[T]], on_result: Callable[[int, T], None] | None = None
    ) -> list[T]:
        """Run all policies to their ends, many at once; `on_result` receives each result when it is there.

        Earlier policies go first where not all can run. A limit, an interruption or an agent that keeps failing ends
        the run with its error, after all started rollouts have finished and are saved.
        """
        results: dict[int, T] = {}

        def deliver(index: int, result: T) -> None:
            results[index] = result
            if isinstance(result, ChainRecord):
                self._listener(_chain_finished(result))
            if on_result is not None:
                on_result(index, result)

        unsubscribe = self._stop.subscribe(self._scheduler.stop)
        if self._stop.level:
            self._scheduler.stop(1)
        try:
            started = await self._run_saving(policies, deliver)
        except BaseExceptionGroup as group:
            raise unwrap_group(group) from None
        finally:
            unsubscribe()
        self._raise_early_end(complete=len(results) == started)
        return [results[index] for index in sorted(results)]

    def _raise_early_end(self, *, complete: bool) -> None:
        """Raise the error that ended the run early. An interruption after everything was complete is ignored."""
        halted, spending = self._scheduler.halted, self._scheduler.spending
        if halted is not None and not (complete and isinstance(halted, Interrupted)):
            raise spending.explain_limit(halted) if isinstance(halted, BudgetReached) else halted
        if spending.all_missing:
            raise spending.unavailable()

    async def _run_saving(self, policies: Iterable[Policy[T]], deliver: Callable[[int, T], None]) -> int:
        started = 0
        self._scheduler.open()
        async with anyio.create_task_group() as saving:
            saving.start_soon(self._scheduler.save_all)
            try:
                started = await self._run_all(policies, deliver)
            finally:
                self._scheduler.close()
        return started

    async def _run_all(self, policies: Iterable[Policy[T]], deliver: Callable[[int, T], None]) -> int:
        """Run as many policies at once as there are jobs: each has at least one rollout to run."""
        started = 0
        async with anyio.create_task_group() as running:
            self._scheduler.work_in(running)
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
            self._scheduler.halt(error)
        finally:
            policy.close()
            live.release()

    async def _result(self, index: int, policy: Policy[T]) -> T:
        started: dict[Request, PendingRollout | float | None] = {}  # asked for, not yet waited for
        try:
            requests = next(policy)
            while True:
                ahead = requests.ahead if isinstance(requests, RequestBatch) else ()
                new = [request for request in requests if request not in started]
                started |= self._start(index, new, [request for request in ahead if request not in started])
                await checkpoint()
                answers = {request: await self._wait_for(request, started[request]) for request in requests}
                for request in answers:
                    del started[request]
                requests = policy.send(answers)
        except StopIteration as end:
            result: T = end.value
            return result

    def _start(
        self, index: int, requests: Sequence[Request], ahead: Sequence[Request]
    ) -> dict[Request, PendingRollout | float | None]:
        """The score of each request from the ledger, or the pending rollout, started now, that will have it."""
        keys = {request: self._key(request) for request in (*requests, *ahead)}
        pending, given_up = self._scheduler.pending, self._scheduler.given_up
        stored = self._stored(key for key in dict.fromkeys(keys.values()) if key not in pending and key not in given_up)
        new: list[PendingRollout] = []
        answers: dict[Request, PendingRollout | float | None] = {}
        for request, key in self._durations.longest_first(keys.items(), later=len(requests)):
            if key in stored:
                answers[request] = self._reuse(request, stored[key])
            elif key in given_up:
                missing = Rollout(key=key, task_id=request.task, score=None, failure=given_up[key])
                answers[request] = self._reuse(request, missing)
            elif key in pending:
                answers[request] = pending[key]
            else:
                new.append(self._new_pending(index, request, key))
                answers[request] = pending[key] = new[-1]
        self._scheduler.submit(new)
        return answers

    def _stored(self, keys: Iterable[RolloutKey]) -> dict[RolloutKey, Rollout]:
        """Rollouts in the ledger. A cut answer that an earlier run scored is missing if such answers do not count."""
        stored = self._ledger.lookup(keys)
        if self._options.score_cut:
            return stored
        failure = RolloutFailure(kind=FailureKind.CUT_ANSWER, message=CUT)
        for key in [key for key, rollout in stored.items() if rollout.ending is Ending.CUT]:
            self._scheduler.given_up[key] = failure
            self._scheduler.spending.count_withheld(replace(stored.pop(key), score=None, failure=failure))
        return stored

    async def _wait_for(self, request: Request, pending: PendingRollout | float | None) -> float | None:
        if not isinstance(pending, PendingRollout):
            return pending
        if not pending.done.is_set():
            await pending.done.wait()
        if pending.abandoned or pending.rollout is None:
            raise _Stopped
        if request is not pending.request:
            return self._reuse(request, pending.rollout)
        self._durations.add(pending.rollout)
        return pending.rollout.score

    def _reuse(self, request: Request, rollout: Rollout) -> float | None:
        self._scheduler.spending.count_reused(rollout)
        self._listener(finished_event(request, rollout, reused=True))
        return rollout.score

    def _new_pending(self, index: int, request: Request, key: RolloutKey) -> PendingRollout:
        self._sequence += 1
        return PendingRollout(request=request, key=key, rank=(index, self._sequence))

    def _key(self, request: Request) -> RolloutKey:
        tree = self._rendering(request).digest
        if request.why.startswith(RECHECK):
            tree = f"{tree} {request.why}"
        return RolloutKey(tree=tree, task=self._task(request).digest, agent=self._agent, replicate=request.replicate)

    def _rendering(self, request: Request) -> Rendering:
        if request.null_change:
            return self._render(request.coalition, request.operator, request.null_change)
        return self._render(request.coalition, request.operator)

    def _task(self, request: Request) -> Task:
        task = self._tasks.get(request.task)
        if task is None:
            raise TaskError(f"there is no task {request.task!r} in the panel.")
        return task

    def _job(self, pending: PendingRollout) -> Job:
        request = pending.request
        return Job(
            key=pending.key,
            # Rendered now, not at submission: a long queue must not hold the files of all its renderings.
            skill=self._rendering(request),
            task=self._task(request),
            timeout=self._options.timeout,
            alone=pending.suspect,
            score_cut=self._options.score_cut,
        )


def _chain_finished(record: ChainRecord) -> ChainFinished:
    return ChainFinished(
        index=record.plan.index, evaluated=len(record.steps), truncated=record.truncated_at is not None
    )
