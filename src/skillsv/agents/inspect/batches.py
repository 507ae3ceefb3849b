"""Collects the samples of concurrent rollouts into batches, and runs one evaluation of Inspect per batch.

Inspect runs one evaluation at a time in a process. A sample that comes while an evaluation runs waits for the next one,
which takes all waiting samples, whatever their tasks and skills are.
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

from skillsv.agents.inspect.evaluate import EvaluationResult, EvaluationSettings, evaluate
from skillsv.errors import AgentFailure, SettingsError, SkillSVError
from skillsv.model.rollout import FailureKind
from skillsv.sandbox.inspect_file import describe_inspect_error
from skillsv.sandbox.redaction import redact


@dataclass(slots=True, eq=False)
class PendingSample:
    """One sample that a rollout waits for. `result` is set before `done`."""

    settings: EvaluationSettings
    sample: Sample
    scored: bool
    result: EvalSample | SkillSVError | None = None
    done: anyio.Event = field(default_factory=anyio.Event)

    def finish(self, result: EvalSample | SkillSVError) -> None:
        """Set the result, and wake the waiting rollout."""
        self.result = result
        self.done.set()

    def fits(self, other: PendingSample) -> bool:
        """Whether both samples can run in one evaluation."""
        return self.settings is other.settings and self.scored == other.scored


@dataclass(slots=True, eq=False)
class Batch:
    """The samples of one evaluation. The evaluation is cancelled when no rollout waits for it any more."""

    samples: list[PendingSample]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def leave(self, pending: PendingSample) -> None:
        """Remove a sample that no rollout waits for. Removing the last one waits until the evaluation has ended."""
        self.samples.remove(pending)
        if not self.samples and not self.ended.is_set():
            self.scope.cancel()
            with anyio.CancelScope(shield=True):
                await self.ended.wait()


class BatchQueue:
    """The samples that wait for the single evaluation which an event loop may run."""

    def __init__(self) -> None:
        self._waiting: list[PendingSample] = []
        self._running: Batch | None = None
        self._work: asyncio.Task[None] | None = None

    async def run(self, pending: PendingSample) -> EvalSample:
        """Run one sample and return it finished. Raises the error that kept its evaluation from running."""
        self._waiting.append(pending)
        if self._work is None or self._work.done():
            # A separate task: all waiting rollouts share the evaluation, and the first one may be cancelled.
            self._work = asyncio.get_running_loop().create_task(self._run_batches())
        try:
            await pending.done.wait()
        finally:
            await self._leave(pending)
        if isinstance(pending.result, EvalSample):
            return pending.result
        assert pending.result is not None, "the result is set before `done`"
        raise pending.result

    async def _leave(self, pending: PendingSample) -> None:
        if pending in self._waiting:
            self._waiting.remove(pending)
        elif self._running is not None and pending in self._running.samples:
            await self._running.leave(pending)

    async def _run_batches(self) -> None:
        try:
            while self._waiting:
                await self._wait_for_more()
                first = next(iter(self._waiting), None)
                if first is not None:
                    batch = Batch([pending for pending in self._waiting if pending.fits(first)])
                    self._waiting = [pending for pending in self._waiting if not pending.fits(first)]
                    await self._run_batch(batch)
        finally:
            _fail_unfinished(self._waiting)

    async def _wait_for_more(self) -> None:
        """Let the event loop run until no further sample comes: rollouts often start together."""
        before = 0
        while len(self._waiting) != before:
            before = len(self._waiting)
            await checkpoint()

    async def _run_batch(self, batch: Batch) -> None:
        self._running = batch
        samples = list(batch.samples)
        for number, pending in enumerate(samples, start=1):
            # One batch may hold the same task with several skills, and Inspect needs distinct ids.
            pending.sample.id = f"{number}-{(pending.sample.metadata or {}).get('task_id', '')}"
        try:
            with batch.scope:
                _finish_all(samples, await _evaluate_all(samples))
        finally:
            _fail_unfinished(samples)
            self._running = None
            batch.ended.set()


async def _evaluate_all(samples: list[PendingSample]) -> EvaluationResult | SkillSVError:
    first = samples[0]
    try:
        return await evaluate(first.settings, [pending.sample for pending in samples], scored=first.scored)
    except PrerequisiteError as error:
        return SettingsError(f"the Inspect task cannot be run: {redact(describe_inspect_error(error))}.")
    except Exception as error:  # noqa: BLE001 - the edge of all rollouts of this batch; the runner may retry each
        return AgentFailure(f"the evaluation failed: {redact(describe_inspect_error(error))}.", kind=FailureKind.CRASH)


def _finish_all(samples: list[PendingSample], result: EvaluationResult | SkillSVError) -> None:
    for pending in samples:
        if isinstance(result, SkillSVError):
            pending.finish(result)
            continue
        finished = result.samples.get(pending.sample.id or "")
        reason = redact(result.error or "it did not run")
        missing = AgentFailure(f"the evaluation has no result for it: {reason}.", kind=FailureKind.CRASH)
        pending.finish(missing if finished is None else finished)


def _fail_unfinished(samples: list[PendingSample]) -> None:
    """Give every sample without a result a failure, so that no rollout waits for ever."""
    for pending in samples:
        if not pending.done.is_set():
            pending.finish(AgentFailure("the evaluation ended too early.", kind=FailureKind.CRASH))


_QUEUES: WeakKeyDictionary[asyncio.AbstractEventLoop, BatchQueue] = WeakKeyDictionary()
"""One queue for each event loop."""


def shared_queue() -> BatchQueue:
    """The queue of this event loop. All agents share it, because they share the process."""
    loop = asyncio.get_running_loop()
    if loop not in _QUEUES:
        _QUEUES[loop] = BatchQueue()
    return _QUEUES[loop]
