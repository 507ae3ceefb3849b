"""Jobs and answers between driver and worker: several in one call, and none without an end."""

import asyncio
import pickle
from types import SimpleNamespace

import anyio
import pytest

from skillsv.model.rollout import FailureKind, Rollout, RolloutFailure, RolloutKey
from skillsv.rollout.ray.job_exchange import AnswerQueue, FailedCall, JobExchange
from skillsv.rollout.ray.transfer import Packed, PackedJob, StoredObject


def packed(seconds: float = 0.0) -> PackedJob:
    """A job that the toy worker runs for so many seconds; `seconds` is its time limit, which nothing else reads here."""
    part = Packed(content=StoredObject(digest="d"), files=())
    key = RolloutKey(tree="tree", task="task", agent="agent")
    return PackedJob(key=key, timeout=seconds, skill=part, task=part)


class ToyWorker:
    """Both sides in one process, joined as Ray's actor handle joins them. It counts calls and stopped jobs."""

    def __init__(self, answer=None) -> None:
        self.batches, self.stopped = [], []
        self.dead: BaseException | None = None
        self.answer = answer
        self._queue = AnswerQueue(self._run)
        self.exchange = SimpleNamespace(remote=self._exchange)
        self.cancel = SimpleNamespace(remote=self._cancel)

    async def _exchange(self, jobs):
        self.batches.append(len(jobs))
        call = asyncio.ensure_future(self._queue.exchange(jobs))
        while not call.done():
            await asyncio.sleep(0.001)
            if self.dead is not None:
                raise self.dead
        return call.result()

    async def _cancel(self, number):
        self._queue.cancel(number)

    async def _run(self, job):
        try:
            await asyncio.sleep(job.timeout)
        except asyncio.CancelledError:
            self.stopped.append(job)
            raise
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or Rollout(key=job.key, task_id="t", score=1.0)


async def answers_of(exchange, *seconds):
    return await asyncio.gather(*(exchange.start(packed(each))[1] for each in seconds))


def test_jobs_of_one_turn_share_a_call_and_answers_share_its_reply():
    async def go():
        worker = ToyWorker()
        answers = await answers_of(JobExchange(worker), *[0.0] * 8)
        return worker.batches, [answer.score for answer in answers]

    batches, scores = anyio.run(go)
    assert scores == [1.0] * 8
    assert batches[0] == 8
    assert len(batches) <= 2


def test_a_fast_job_does_not_wait_for_a_slow_one_of_its_call():
    async def go():
        worker = ToyWorker()
        exchange = JobExchange(worker)
        (_, slow), (_, fast) = exchange.start(packed(0.5)), exchange.start(packed())
        assert (await fast).score == 1.0
        assert not slow.done()
        assert (await slow).score == 1.0
        return worker.batches

    assert anyio.run(go) == [2, 0], "the second call brought no job and returned the slow answer"


@pytest.mark.parametrize("answered", [0, 1])
def test_a_worker_that_dies_ends_all_its_jobs(answered):
    error = ConnectionError("gone")

    async def go():
        worker = ToyWorker()
        exchange = JobExchange(worker)
        replies = [exchange.start(packed(3600.0))[1] for _ in range(2)]
        await answers_of(exchange, *[0.0] * answered)
        await asyncio.sleep(0.02)
        worker.dead = error
        with anyio.fail_after(5):
            return await asyncio.gather(*replies)

    assert anyio.run(go) == [FailedCall(error=error)] * 2


def test_a_cancelled_job_has_stopped_when_cancel_returns_and_others_go_on():
    async def go():
        worker = ToyWorker()
        exchange = JobExchange(worker)
        number, reply = exchange.start(packed(3600.0))
        _, other = exchange.start(packed(0.2))
        await asyncio.sleep(0.02)
        reply.cancel()
        await exchange.cancel(number)
        assert len(worker.stopped) == 1
        assert (await other).score == 1.0
        await exchange.cancel(number)  # it has ended: nothing to do
        return worker.stopped

    assert len(anyio.run(go)) == 1


def test_a_job_that_is_cancelled_before_it_is_sent_never_runs():
    async def go():
        worker = ToyWorker()
        exchange = JobExchange(worker)
        number, _ = exchange.start(packed())
        await exchange.cancel(number)
        await asyncio.sleep(0.02)
        return worker.batches

    assert anyio.run(go) == []


class Unpicklable(Rollout):
    def __reduce__(self):
        raise pickle.PicklingError("not to be sent")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Unpicklable(key=packed().key, task_id="t", score=1.0), "PicklingError: not to be sent"),
        (OSError("object lost"), "OSError: object lost"),
    ],
)
def test_an_answer_that_cannot_be_sent_is_a_failure_of_its_job_alone(answer, message):
    async def go():
        return await answers_of(JobExchange(ToyWorker(answer)), 0.0, 0.0)

    assert anyio.run(go) == [RolloutFailure(kind=FailureKind.CRASH, message=message)] * 2
