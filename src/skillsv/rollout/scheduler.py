"""The scheduler: starts requested rollouts within the limits of a run, retries failed ones and hands over results.

Everything here runs on one event loop, so code without `await` cannot be interrupted. A rollout is in `pending` from
its submission until it is in the ledger; from then on the ledger answers requests for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup

from skillsv.errors import BudgetReached, Interrupted, SkillSVError
from skillsv.model.events import Note, RolloutFinished, RolloutRetried
from skillsv.model.protocols import Listener
from skillsv.model.rollout import FailureKind, Request, Rollout, RolloutFailure, RolloutKey
from skillsv.rollout.engine import Engine, GrowingEngine, Job
from skillsv.rollout.ledger import Ledger
from skillsv.rollout.pacing import OVERLOAD_KINDS, ConcurrencyLimit, backoff
from skillsv.rollout.pending import PendingRollout, SaveQueue
from skillsv.rollout.provider_limit import shared_limit
from skillsv.rollout.rendering_queue import RenderingQueue
from skillsv.rollout.run_control import RunnerOptions, Timing
from skillsv.rollout.run_group import RunGroup
from skillsv.rollout.spending import CRASHES, SpendingTracker
from skillsv.rollout.stop_rules import Progress

FORGIVEN_LOSSES = 5
"""How often the worker of a rollout may die before a loss counts as an attempt: the rollout may be the cause."""


class Scheduler:
    """Runs pending rollouts on an engine. A result counts only once it is in the ledger.

    `given_up` holds the rollouts that failed for good, `halted` the error that stopped the run. `runs` are the runs
    that share slots and budget with this one.
    """

    def __init__(
        self,
        *,
        engine: Engine,
        ledger: Ledger,
        job_of: Callable[[PendingRollout], Job],
        options: RunnerOptions,
        listener: Listener,
        timing: Timing,
        require_unchanged: Callable[[], None] = lambda: None,
        runs: RunGroup | None = None,
    ) -> None:
        self.pending: dict[RolloutKey, PendingRollout] = {}
        self.given_up: dict[RolloutKey, RolloutFailure] = {}
        self.halted: SkillSVError | None = None
        self.spending = SpendingTracker(timing.clock)
        self._engine = engine
        self._job_of = job_of
        self._options = options
        self._listener = listener
        self._timing = timing
        self._concurrency = ConcurrencyLimit(options.jobs)
        self._limit = shared_limit(options.provider, options.per_minute, timing.clock)
        self._saving = SaveQueue(
            ledger,
            options.run,
            on_saved=self._saved,
            on_failed=self._cannot_save,
            require_unchanged=require_unchanged,
        )
        if isinstance(engine, GrowingEngine):
            engine.call_on_growth(self._start_next)
        self._runs = runs or RunGroup(options.jobs, options.budget)
        self._queue = RenderingQueue()
        self._active = 0  # started and not yet saved: all that a crash can lose
        self._pauses = 0
        self._sleeping: set[anyio.CancelScope] = set()
        self._group: TaskGroup | None = None

    def open(self) -> None:
        """Begin a period of work; `save_all` must run beside it. Nothing of an earlier period is left."""
        self._saving.open()
        self._active = self._pauses = 0
        self._queue.clear()
        self.pending.clear()
        self._runs.join(self)

    def close(self) -> None:
        """No rollout is pending any more: `save_all` ends when the rest is saved."""
        self._saving.close()
        self._runs.leave(self)

    @property
    def active(self) -> int:
        """Rollouts that are started and not yet saved."""
        return self._active

    async def save_all(self) -> None:
        """Save finished rollouts until closed. A cancellation waits for it."""
        await self._saving.save_all()

    def work_in(self, group: TaskGroup) -> None:
        """Run the rollouts of this period as tasks of `group`."""
        self._group = group

    def submit(self, requested: list[PendingRollout]) -> None:
        """Queue these rollouts. In a run that is stopping they are abandoned at once."""
        for pending in requested:
            self.pending[pending.key] = pending
            if self.halted is None:
                self._queue.push(pending)
            else:
                self._abandon(pending)
        self._start_next()

    def stop(self, level: int) -> None:
        """Level 1: start nothing new. Level 2: cancel what runs; finished rollouts are still saved."""
        self.halt(Interrupted("stopped.", hint="Everything that finished is saved; the same command resumes."))
        if level > 1 and self._group is not None:
            self._group.cancel_scope.cancel()

    def halt(self, reason: SkillSVError) -> None:
        """Start nothing more; started rollouts run to their end. Only the first reason is kept."""
        if self.halted is not None:
            return
        self.halted = reason
        for pending in self._queue:
            self._abandon(pending)
        self._queue.clear()
        for scope in tuple(self._sleeping):
            scope.cancel()

    def _abandon(self, pending: PendingRollout) -> None:
        pending.abandoned = True
        self.pending.pop(pending.key, None)
        pending.done.set()

    def _start_next(self) -> None:
        """Start queued rollouts, of this run and of those that share its slots, while slots are free."""
        self._runs.start_next()

    def start_one(self) -> bool:
        """Start a queued rollout if a slot is free and no limit is reached; whether one was started."""
        if self._agent_looks_broken() or not self._queue or self._saving.closed or self._pauses:
            return False
        if not self._has_slot() or self._limit_reached():
            return False
        wait = self._limit.take()
        if wait > 0.0:
            self._pauses += 1
            self._spawn(self._pause, wait)
            return False
        self._start(self._queue.pop())
        return True

    def _limit_reached(self) -> bool:
        """Whether the budget is used up: then the run halts."""
        reason = self._runs.budget.reached(self._runs.progress())
        if reason is None:
            return False
        what = f"the budget of {reason} is used up."
        self.halt(BudgetReached(what, hint="The partial result is kept; raise the limit to go on from here."))
        return True

    def progress(self) -> Progress:
        """What this run has spent; pending rollouts count at the average."""
        return self.spending.progress(self._active - self._saving.unsaved)

    def _agent_looks_broken(self) -> bool:
        """Whether the same crash on several tasks holds new rollouts back.

        A started rollout may still succeed and show that the agent works; when none is left, the run ends.
        """
        if self.halted is not None:
            return False
        error = self.spending.repeated_crash()
        if error is not None and not self._active:
            self.halt(error)
        return error is not None

    def _has_slot(self) -> bool:
        return self._active < self._concurrency.current and self._runs.has_slot(self._engine.slots)

    def _start(self, pending: PendingRollout) -> None:
        pending.attempt += 1
        pending.reductions = self._concurrency.reductions
        pending.rate_reductions = self._limit.reductions
        self._active += 1
        self.spending.attempts += 1
        self._spawn(self._execute, pending)

    def _spawn(self, work: Callable[..., Any], *arguments: object) -> None:
        assert self._group is not None, "rollouts are submitted only between open() and close()"
        self._group.start_soon(work, *arguments)

    async def _execute(self, pending: PendingRollout) -> None:
        try:
            rollout = await self._engine.run(self._job_of(pending))
        except SkillSVError as error:
            self._active -= 1
            self._abandon(pending)
            self.halt(error)
            return
        pending.usage += rollout.usage
        self.spending.count_attempt(rollout)
        failure = rollout.failure
        self._queue.note_end(pending, answered=failure is None)
        if failure is not None and failure.kind in OVERLOAD_KINDS:
            self._slow_down(pending, failure)
        if failure is None and rollout.usage.usd is None and self._options.needs_cost:
            self.halt(_unknown_cost())
        if failure is None or not self._retry(pending, failure):
            self._finish(pending, rollout)
        else:
            self._active -= 1
            self._start_next()

    def _retry(self, pending: PendingRollout, failure: RolloutFailure) -> bool:
        """Whether this failed rollout gets another attempt, now or (in a run that is stopping) in a later session."""
        if failure.lost and pending.losses < FORGIVEN_LOSSES:
            pending.losses += 1
            pending.attempt -= 1
        if not failure.kind.worth_retrying or pending.attempt >= self._options.attempts:
            return False
        if self.halted is not None:
            self._abandon(pending)
            return True
        options, attempt = self._options, max(1, pending.attempt)
        wait = backoff(pending.key, attempt, failure, base=options.backoff, cap=options.longest_wait, seed=options.seed)
        pending.postponed = failure.kind in CRASHES and not self.spending.succeeded
        self._listener(
            RolloutRetried(
                task=pending.request.task,
                attempt=attempt,
                kind=failure.kind,
                message=failure.message,
                wait=wait,
            )
        )
        self._spawn(self._retry_after, pending, wait)
        return True

    def _slow_down(self, pending: PendingRollout, failure: RolloutFailure) -> None:
        """Start fewer rollouts: in a minute if the provider refuses (429), at the same time if it is overloaded."""
        self._limit.close(failure.retry_after or 0.0)
        if failure.kind is FailureKind.RATE_LIMIT:
            reduced = self._limit.refuse(pending.rate_reductions)
            number = f"{self._limit.per_minute:.3g} rollouts a minute"
        else:
            reduced = self._concurrency.reduce(pending.reductions)
            number = f"{self._concurrency.current} rollouts at once"
        if reduced:
            self._listener(Note(message=f"the service asks for fewer requests: {number} from here."))

    async def _pause(self, seconds: float) -> None:
        await self._sleep(seconds)
        self._pauses -= 1
        self._start_next()

    async def _retry_after(self, pending: PendingRollout, wait: float) -> None:
        await self._sleep(wait)
        if self.halted is None:
            pending.postponed = pending.postponed and not self.spending.succeeded
            self._queue.push(pending)
            self._start_next()
        else:
            self._abandon(pending)

    async def _sleep(self, seconds: float) -> None:
        """Wait; `halt` ends the wait, and so does a limit of time: a service may ask for a wait of any length."""
        left = self._runs.budget.seconds_left(self._runs.progress())
        with anyio.CancelScope() as scope:
            self._sleeping.add(scope)
            try:
                await self._timing.sleep(min(seconds, left))
            finally:
                self._sleeping.discard(scope)
        if left < seconds:
            self._limit_reached()

    def _finish(self, pending: PendingRollout, rollout: Rollout) -> None:
        """Count a rollout that needs no further attempt, and queue it for saving."""
        if rollout.failure is None:
            self._concurrency.increase()
            self._limit.accept()
            self._restore_order()
        pending.rollout = replace(rollout, attempts=pending.attempt, usage=pending.usage)
        self.spending.count_finished(rollout)
        self._saving.add(pending)
        error = self.spending.too_many_missing(self._options) if rollout.failure is not None else None
        if error is not None:
            self.halt(error)

    def _restore_order(self) -> None:
        """At the first success, undo the postponement of rollouts that crashed before it."""
        if self.spending.succeeded:
            return
        for pending in self._queue:
            pending.postponed = False
        self._queue.restore_order()

    def _saved(self, batch: list[PendingRollout]) -> None:
        for pending in batch:
            rollout = pending.rollout
            assert rollout is not None, "only finished rollouts are saved"
            del self.pending[pending.key]
            self._active -= 1
            if rollout.failure is not None:
                self.given_up[pending.key] = rollout.failure
            self._listener(finished_event(pending.request, rollout, reused=False))
            pending.done.set()
        self._start_next()

    def _cannot_save(self, batch: list[PendingRollout], error: SkillSVError) -> None:
        """Stop at once: every further rollout would be lost, too."""
        self.halt(error)
        for pending in batch:
            self._abandon(pending)
        if self._group is not None:
            self._group.cancel_scope.cancel()


def _unknown_cost() -> BudgetReached:
    return BudgetReached(
        "a rollout did not report its cost, so the budget cannot be measured any more.",
        hint="The partial result is kept; add a limit such as --max-rollouts 500 to go on from here.",
    )


def finished_event(request: Request, rollout: Rollout, *, reused: bool) -> RolloutFinished:
    """What listeners receive about one request that has its answer."""
    return RolloutFinished(
        task=request.task,
        tree=rollout.key.tree,
        why=request.why,
        score=rollout.score,
        reused=reused,
        usage=rollout.usage,
        duration=rollout.duration,
        failure=None if rollout.failure is None else rollout.failure.kind,
        agent=rollout.key.agent,
        replicate=rollout.key.replicate,
    )
