"""From a queue of wanted rollouts to saved ones: launch, retry, slow down, save, stop.

Everything here runs on one event loop, so a line of code that does not await cannot be interrupted. A flight is in
`in_flight` from its submission until it is saved; from then on the ledger answers for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup

from skillsv.errors import BudgetReached, Interrupted, LedgerError, SkillSVError
from skillsv.model.events import Note, RolloutFinished, RolloutRetried
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Request, Rollout, RolloutFailure, RolloutKey, Usage
from skillsv.rollout.engine import Elastic, Engine, Job
from skillsv.rollout.ledger import Ledger
from skillsv.rollout.pacing import SLOWING, Pace, RateLimit, backoff
from skillsv.rollout.run_control import RunnerOptions, Timing
from skillsv.rollout.spending import CRASHES, SpendingTracker

FORGIVEN_LOSSES = 5
"""How often the machine under a rollout may die before that counts against the rollout: it may be what kills it."""

SUSPECT_LOSSES = 2
"""After so many losses a rollout is kept apart from others, so that what kills its machine loses nothing but itself."""


@dataclass(slots=True, eq=False)
class PendingRollout:
    """One wanted rollout on its way. `rank` orders the queue; `abandoned`: the run stopped before it had a result.

    `losses` counts machines or processes that died with it; they are no attempts, up to a point. `postponed`: it
    crashed before any rollout succeeded, so other tasks are tried first.
    """

    request: Request
    key: RolloutKey
    rank: tuple[int, int]
    attempt: int = 0
    losses: int = 0
    round: int = 0
    usage: Usage = field(default_factory=Usage)
    rollout: Rollout | None = None
    abandoned: bool = False
    postponed: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)

    @property
    def suspect(self) -> bool:
        """Whether it may be what kills its machines."""
        return self.losses >= SUSPECT_LOSSES

    def __lt__(self, other: PendingRollout) -> bool:
        return (self.postponed, self.rank) < (other.postponed, other.rank)


class Scheduler:
    """Runs flights on an engine within the limits of the options, and saves each before it counts."""

    def __init__(
        self,
        *,
        engine: Engine,
        ledger: Ledger,
        job_of: Callable[[PendingRollout], Job],
        options: RunnerOptions,
        listener: Listener,
        timing: Timing,
    ) -> None:
        self.in_flight: dict[RolloutKey, PendingRollout] = {}
        self.given_up: dict[RolloutKey, RolloutFailure] = {}
        self.halted: SkillSVError | None = None
        self.tally = SpendingTracker(timing.clock)
        self._engine = engine
        self._ledger = ledger
        self._job_of = job_of
        self._options = options
        self._listener = listener
        self._timing = timing
        self._pace = Pace(options.jobs)
        self._bucket = RateLimit(options.per_minute, timing.clock)
        if isinstance(engine, Elastic):
            engine.follow(self._pump)
        self._queue: list[PendingRollout] = []
        self._active = 0  # started and not yet saved: all that a crash can cost
        self._pauses = 0
        self._naps: set[anyio.CancelScope] = set()
        self._unsaved: list[PendingRollout] = []
        self._landing = 0
        self._more = anyio.Event()
        self._closing = False
        self._group: TaskGroup | None = None
        # A thread of its own: agents that are plain functions may hold all threads of the shared pool for minutes.
        self._thread = anyio.CapacityLimiter(1)

    def open(self) -> None:
        """Begin a stretch of work; `save_all` must run beside it. What an earlier one left behind is forgotten."""
        self._closing = False
        self._active = self._landing = self._pauses = 0
        self._queue.clear()
        self.in_flight.clear()

    def work_in(self, group: TaskGroup) -> None:
        """Flights of this stretch run as tasks of `group`."""
        self._group = group

    def submit(self, flights: list[PendingRollout]) -> None:
        """Want these rollouts. In a run that is stopping they are abandoned at once."""
        for flight in flights:
            self.in_flight[flight.key] = flight
            if self.halted is None:
                heapq.heappush(self._queue, flight)
            else:
                self._abandon(flight)
        self._pump()

    def follow_stop(self, level: int) -> None:
        """First request: start nothing new. Second: cancel what runs; what has finished is still saved."""
        self.halt(Interrupted("stopped.", hint="Everything that finished is saved; the same command resumes."))
        if level > 1 and self._group is not None:
            self._group.cancel_scope.cancel()

    def halt(self, why: SkillSVError) -> None:
        """Start nothing more; what is in flight goes on to its end. The first reason stands."""
        if self.halted is not None:
            return
        self.halted = why
        for flight in self._queue:
            self._abandon(flight)
        self._queue.clear()
        for nap in tuple(self._naps):
            nap.cancel()

    def _abandon(self, flight: PendingRollout) -> None:
        flight.abandoned = True
        self.in_flight.pop(flight.key, None)
        flight.done.set()

    def _pump(self) -> None:
        """Launch while there is work, room and budget, and the minute's allowance lasts."""
        if self._agent_looks_broken():
            return
        while self._queue and not self._closing and not self._pauses and self._active < self._room():
            reason = self._options.budget.reached(self.tally.spent(self._active - self._landing))
            if reason is not None:
                what = f"the budget of {reason} is used up."
                self.halt(BudgetReached(what, hint="The partial result is kept; raise the limit to go on from here."))
                return
            wait = self._bucket.take()
            if wait > 0.0:
                self._pauses += 1
                self._spawn(self._pause, wait)
                return
            self._launch(heapq.heappop(self._queue))

    def _agent_looks_broken(self) -> bool:
        """Whether the same crash on several tasks holds new rollouts back.

        What is in flight may still succeed and prove the agent sound; when nothing is left in flight, the run ends.
        """
        if self.halted is not None:
            return False
        crash = self.tally.same_crash()
        if crash is not None and not self._active:
            self.halt(crash)
        return crash is not None

    def _room(self) -> int:
        slots = self._engine.slots
        return self._pace.at_once if slots is None else min(self._pace.at_once, slots)

    def _launch(self, flight: PendingRollout) -> None:
        flight.attempt += 1
        flight.round = self._pace.round
        self._active += 1
        self.tally.attempts += 1
        self._spawn(self._execute, flight)

    def _spawn(self, work: Callable[..., Any], *arguments: object) -> None:
        assert self._group is not None, "flights are submitted only while a stretch of work is open"
        self._group.start_soon(work, *arguments)

    async def _execute(self, flight: PendingRollout) -> None:
        try:
            rollout = await self._engine.run(self._job_of(flight))
        except SkillSVError as error:
            self._active -= 1
            self._abandon(flight)
            self.halt(error)
            return
        flight.usage += rollout.usage
        self.tally.ended(rollout)
        failure = rollout.failure
        if failure is None and rollout.usage.usd is None and self._options.needs_cost:
            self.halt(_unmeasured())
        if failure is None or not self._again(flight, failure):
            self._landed(flight, rollout)
        else:
            self._active -= 1
            self._pump()

    def _again(self, flight: PendingRollout, failure: RolloutFailure) -> bool:
        """Whether this failed flight is taken care of by another attempt, now or in a later session."""
        if failure.lost and flight.losses < FORGIVEN_LOSSES:
            flight.losses += 1
            flight.attempt -= 1
        if not failure.kind.worth_retrying or flight.attempt >= self._options.attempts:
            return False
        if self.halted is not None:
            self._abandon(flight)
            return True
        options, attempt = self._options, max(1, flight.attempt)
        wait = backoff(flight.key, attempt, failure, base=options.backoff, cap=options.longest_wait, seed=options.seed)
        if failure.kind in SLOWING:
            self._slow_down(flight, failure)
        flight.postponed = failure.kind in CRASHES and not self.tally.succeeded
        self._listener(
            RolloutRetried(
                task=flight.request.task,
                attempt=attempt,
                kind=failure.kind,
                message=failure.message,
                wait=wait,
            )
        )
        self._spawn(self._retry_after, flight, wait)
        return True

    def _slow_down(self, flight: PendingRollout, failure: RolloutFailure) -> None:
        if not self._pace.slowed(flight.round):
            return
        self._listener(Note(message=f"the service asks for patience: {self._pace.at_once} rollouts at once from here."))
        if failure.retry_after:
            self._pauses += 1
            self._spawn(self._pause, failure.retry_after)

    async def _pause(self, seconds: float) -> None:
        await self._nap(seconds)
        self._pauses -= 1
        self._pump()

    async def _retry_after(self, flight: PendingRollout, wait: float) -> None:
        await self._nap(wait)
        if self.halted is None:
            flight.postponed = flight.postponed and not self.tally.succeeded
            heapq.heappush(self._queue, flight)
            self._pump()
        else:
            self._abandon(flight)

    async def _nap(self, seconds: float) -> None:
        with anyio.CancelScope() as scope:
            self._naps.add(scope)
            try:
                await self._timing.sleep(seconds)
            finally:
                self._naps.discard(scope)

    def _landed(self, flight: PendingRollout, rollout: Rollout) -> None:
        if rollout.failure is None:
            self._pace.succeeded()
            self._restore_order()
        flight.rollout = replace(rollout, attempts=flight.attempt, usage=flight.usage)
        self.tally.finished(rollout)
        self._unsaved.append(flight)
        self._landing += 1
        self._more.set()
        verdict = self.tally.verdict(self._options) if rollout.failure is not None else None
        if verdict is not None:
            self.halt(verdict)

    def _restore_order(self) -> None:
        """The agent works: what crashed before it was known to work has its place in the queue again."""
        if self.tally.succeeded:
            return
        for flight in self._queue:
            flight.postponed = False
        heapq.heapify(self._queue)

    async def save_all(self) -> None:
        """Save what lands, all that is there at a time in one transaction, until closed. Cancelling waits for it."""
        with anyio.CancelScope(shield=True):
            while self._unsaved or not self._closing:
                if not self._unsaved:
                    self._more = anyio.Event()
                    await self._more.wait()
                    continue
                batch, self._unsaved = self._unsaved, []
                try:
                    await self._save(batch)
                except LedgerError as error:
                    self._cannot_save(batch, error)
                    return

    async def _save(self, batch: list[PendingRollout]) -> None:
        rollouts = [flight.rollout for flight in batch if flight.rollout is not None]
        save = partial(self._ledger.record, *rollouts, run=self._options.run)
        await anyio.to_thread.run_sync(save, limiter=self._thread)
        for flight in batch:
            self._settle(flight)
        self._pump()

    def _cannot_save(self, batch: list[PendingRollout], error: LedgerError) -> None:
        """Without a ledger every further rollout would be lost: stop at once."""
        self.halt(error)
        for flight in batch:
            self._abandon(flight)
        if self._group is not None:
            self._group.cancel_scope.cancel()

    def _settle(self, flight: PendingRollout) -> None:
        rollout = flight.rollout
        assert rollout is not None, "only what landed is saved"
        del self.in_flight[flight.key]
        self._active -= 1
        self._landing -= 1
        if rollout.failure is not None:
            self.given_up[flight.key] = rollout.failure
        self._listener(finished_event(flight.request, rollout, reused=False))
        flight.done.set()

    def close(self) -> None:
        """Nothing more will land: `save_all` ends when the rest is saved."""
        self._closing = True
        self._more.set()


def _unmeasured() -> BudgetReached:
    return BudgetReached(
        "a rollout did not report its cost, so the budget cannot be measured any more.",
        hint="The partial result is kept; add a limit such as --max-rollouts 500 to go on from here.",
    )


def finished_event(request: Request, rollout: Rollout, *, reused: bool) -> RolloutFinished:
    """What listeners hear about one request that has its answer."""
    return RolloutFinished(
        task=request.task,
        tree=rollout.key.tree,
        why=request.why,
        score=rollout.score,
        reused=reused,
        usage=rollout.usage,
        duration=rollout.duration,
        failure=None if rollout.failure is None else rollout.failure.kind,
    )
