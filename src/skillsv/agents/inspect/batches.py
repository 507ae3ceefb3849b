"""Rollouts that are asked for at the same time, gathered into one evaluation after another.

Inspect runs one evaluation at a time in a process. Whoever asks while one runs waits for the next, which takes all that
wait together, whatever their tasks and skills are.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import anyio
from anyio.lowlevel import checkpoint
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample

from skillsv.agents.inspect.evaluate import Evaluated, Plan, evaluate
from skillsv.errors import AgentFailure, SettingsError, SkillSVError
from skillsv.model.rollout import FailureKind
from skillsv.sandbox.inspect_file import in_words
from skillsv.sandbox.redaction import redact


@dataclass(slots=True, eq=False)
class Ticket:
    """One sample that somebody waits for. `answer` is there once `done` is set."""

    plan: Plan
    sample: Sample
    scored: bool
    answer: EvalSample | SkillSVError | None = None
    done: anyio.Event = field(default_factory=anyio.Event)

    def settle(self, answer: EvalSample | SkillSVError) -> None:
        """Give the waiting side its answer."""
        self.answer = answer
        self.done.set()

    def fits(self, other: Ticket) -> bool:
        """Whether both may be in one evaluation."""
        return self.plan is other.plan and self.scored == other.scored


@dataclass(slots=True, eq=False)
class Batch:
    """One evaluation. Nobody left who waits for it: it is cancelled, so that it spends no more."""

    tickets: list[Ticket]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def leave(self, ticket: Ticket) -> None:
        """The waiting side of a ticket is gone; the last one waits until the evaluation has wound up."""
        self.tickets.remove(ticket)
        if not self.tickets and not self.ended.is_set():
            self.scope.cancel()
            with anyio.CancelScope(shield=True):
                await self.ended.wait()


class Batches:
    """The queue before the one evaluation that an event loop may run."""

    def __init__(self) -> None:
        self._waiting: list[Ticket] = []
        self._running: Batch | None = None
        self._work: asyncio.Task[None] | None = None

    async def ask(self, ticket: Ticket) -> EvalSample:
        """The finished sample. Raises what kept its evaluation from running."""
        self._waiting.append(ticket)
        if self._work is None or self._work.done():
            # A task of its own: the evaluation belongs to all who wait for it, not to the one who came first.
            self._work = asyncio.get_running_loop().create_task(self._run_all())
        try:
            await ticket.done.wait()
        finally:
            await self._leave(ticket)
        if isinstance(ticket.answer, EvalSample):
            return ticket.answer
        assert ticket.answer is not None, "a ticket is settled before it is done"
        raise ticket.answer

    async def _leave(self, ticket: Ticket) -> None:
        if ticket in self._waiting:
            self._waiting.remove(ticket)
        elif self._running is not None and ticket in self._running.tickets:
            await self._running.leave(ticket)

    async def _run_all(self) -> None:
        try:
            while self._waiting:
                await self._all_joined()
                first = next(iter(self._waiting), None)
                if first is not None:
                    batch = Batch([ticket for ticket in self._waiting if ticket.fits(first)])
                    self._waiting = [ticket for ticket in self._waiting if not ticket.fits(first)]
                    await self._run(batch)
        finally:
            _abandon(self._waiting)

    async def _all_joined(self) -> None:
        """Rollouts begin together: wait for turns of the loop until nobody joins any more."""
        before = 0
        while len(self._waiting) != before:
            before = len(self._waiting)
            await checkpoint()

    async def _run(self, batch: Batch) -> None:
        self._running = batch
        asked = list(batch.tickets)
        for number, ticket in enumerate(asked, start=1):
            # The same question with many skills is in one batch; Inspect wants ids that differ.
            ticket.sample.id = f"{number}-{(ticket.sample.metadata or {}).get('task_id', '')}"
        try:
            with batch.scope:
                _settle(asked, await _evaluated(asked))
        finally:
            _abandon(asked)
            self._running = None
            batch.ended.set()


async def _evaluated(asked: list[Ticket]) -> Evaluated | SkillSVError:
    try:
        return await evaluate(asked[0].plan, [ticket.sample for ticket in asked], scored=asked[0].scored)
    except PrerequisiteError as error:
        return SettingsError(f"the task of Inspect cannot be run: {redact(in_words(error))}.")
    except Exception as error:  # noqa: BLE001 - the edge of all rollouts in this batch, each of which may be tried again
        return AgentFailure(f"the evaluation failed: {redact(in_words(error))}.", kind=FailureKind.CRASH)


def _settle(asked: list[Ticket], found: Evaluated | SkillSVError) -> None:
    for ticket in asked:
        if isinstance(found, SkillSVError):
            ticket.settle(found)
            continue
        sample = found.samples.get(ticket.sample.id or "")
        why = redact(found.trouble or "it did not run")
        lost = AgentFailure(f"the evaluation has no result for it: {why}.", kind=FailureKind.CRASH)
        ticket.settle(lost if sample is None else sample)


def _abandon(tickets: list[Ticket]) -> None:
    """Nobody may wait for ever, whatever ended the work."""
    for ticket in tickets:
        if not ticket.done.is_set():
            ticket.settle(AgentFailure("the evaluation ended before its time.", kind=FailureKind.CRASH))


_QUEUES: WeakKeyDictionary[asyncio.AbstractEventLoop, Batches] = WeakKeyDictionary()


def batches() -> Batches:
    """The queue of this event loop, shared by all agents: they share the process."""
    loop = asyncio.get_running_loop()
    if loop not in _QUEUES:
        _QUEUES[loop] = Batches()
    return _QUEUES[loop]
