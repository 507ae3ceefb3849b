"""The engine that sends rollouts to the nodes of a Ray cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

import anyio
import ray
from ray.exceptions import RayError, RayTaskError

from skillsv.errors import SkillSVError
from skillsv.model.rollout import FailureKind, Rollout, RolloutFailure
from skillsv.rollout.engine import MESSAGE_LIMIT, Job, longest_rollout
from skillsv.rollout.ray.cluster import RayCluster, connect, disconnect
from skillsv.rollout.ray.cluster_options import AgentFactory, ClusterOptions
from skillsv.rollout.ray.job_exchange import FailedCall, JobExchange
from skillsv.rollout.ray.transfer import PackedJob, Packer
from skillsv.rollout.ray.worker import WorkerSetup
from skillsv.rollout.ray.worker_pool import PooledWorker, WorkerPool
from skillsv.sandbox.user_function import describe
from skillsv.trust import SALT_VARIABLE, local_salt

STOP_SECONDS = 8.0
"""Seconds that a cancelled rollout may take to stop on its node; after that its worker is stopped."""


class RayEngine:
    """Runs jobs on the nodes of a cluster, with the same results as the local engine.

    `factory` creates agent and verifier on each node; `fingerprint` is the driver's agent, and a node whose agent has
    another is left out. `others` create further agents, by fingerprint: the key of a job names its agent. If a worker
    or node dies, the failure of its rollouts is marked `lost`: it says nothing about the rollout, and the scheduler
    sends it again. `note` receives messages for the user.
    """

    def __init__(
        self,
        factory: AgentFactory,
        fingerprint: str,
        options: ClusterOptions | None = None,
        *,
        others: Mapping[str, AgentFactory] | None = None,
        note: Callable[[str], None] = lambda _message: None,
    ) -> None:
        self._factory = factory
        self._others = others or {}
        self._fingerprint = fingerprint
        self._options = options or ClusterOptions()
        self._stack = AsyncExitStack()
        self._packer = Packer(ray.put)
        self._factory_ref: Any = None
        self._other_refs: dict[str, Any] = {}
        self._cluster = RayCluster(self._options, self._setup)
        self.pool = WorkerPool(self._cluster, self._options, note=note)

    @property
    def slots(self) -> int | None:
        """The slots of all workers now; at least one, for a job that waits for a worker."""
        return max(1, self.pool.slots)

    def call_on_growth(self, callback: Callable[[], None]) -> None:
        """Call `callback` when a node has joined."""
        self.pool.call_on_growth(callback)

    async def __aenter__(self) -> Self:
        await connect(self._options)
        self._stack.callback(disconnect)
        try:
            self._factory_ref = ray.put(self._factory)
            self._other_refs = {fingerprint: ray.put(factory) for fingerprint, factory in self._others.items()}
            group = await self._stack.enter_async_context(anyio.create_task_group())
            self._stack.callback(group.cancel_scope.cancel)
            group.start_soon(self.pool.watch, group)
            await self.pool.free_worker()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        for worker in tuple(self.pool.workers.values()):
            self.pool.remove(worker)
        self._factory_ref = None
        self._other_refs = {}
        self._packer = Packer(ray.put)
        await self._stack.aclose()

    def _setup(self) -> WorkerSetup:
        names = self._options.forward_env
        return WorkerSetup(
            factory=self._factory_ref,
            secrets={name: os.environ[name] for name in names if name in os.environ} | _salt_for(names),
            fingerprint=self._fingerprint,
            others=self._other_refs,
        )

    async def run(self, job: Job) -> Rollout:
        """Run one job on the node with most free slots."""
        packed = await self._packer.pack(job)
        worker = await self.pool.free_worker()
        answer: Rollout | RolloutFailure | SkillSVError | None = None
        scopes = worker.running_alone if job.alone else worker.running
        with anyio.CancelScope() as scope:
            scopes.add(scope)
            try:
                answer = await (self._run_alone(worker, packed) if job.alone else self._run_known(worker, packed))
            finally:
                scopes.discard(scope)
                self.pool.slot_released()
        if isinstance(answer, SkillSVError):
            raise answer
        if isinstance(answer, Rollout):
            self.pool.reset_deaths(worker)
            return answer
        failure = answer or _lost(worker, "it is gone")
        return Rollout(key=job.key, task_id=job.task.id, score=None, failure=failure)

    async def _run_alone(self, worker: PooledWorker, packed: PackedJob) -> Rollout | RolloutFailure | SkillSVError:
        """The answer of a new actor that runs nothing else; it uses one of the node's slots."""
        actor = await self._cluster.start_single_worker(worker.node)
        if actor is None:
            return _lost(worker, "it could not start a worker")
        try:
            return await self._run_on(worker, JobExchange(actor), packed) or _lost(worker, "it has no answer")
        finally:
            self._cluster.stop_worker(actor)

    async def _run_known(self, worker: PooledWorker, packed: PackedJob) -> Rollout | RolloutFailure | SkillSVError:
        """The answer of a worker, which is sent what it has not fetched before; all of it if it has forgotten some."""
        answer = await self._run_on(worker, worker.exchange, worker.fetched.shorten(packed))
        if answer is None:
            answer = await self._run_on(worker, worker.exchange, packed)
        if isinstance(answer, Rollout):
            worker.fetched.add(packed)
        return answer or _lost(worker, "it has no answer")

    async def _run_on(
        self, worker: PooledWorker, exchange: JobExchange, packed: PackedJob
    ) -> Rollout | RolloutFailure | SkillSVError | None:
        """The answer of this worker or single actor. One that dies or does not answer in time is given up."""
        number, reply = exchange.start(packed)
        limit = None if packed.timeout is None else longest_rollout(packed.timeout) + self._options.hang_seconds
        try:
            with anyio.move_on_after(limit):
                answer = await reply
                return self._explain(worker, exchange, answer.error) if isinstance(answer, FailedCall) else answer
        except anyio.get_cancelled_exc_class():
            if exchange is not worker.exchange or not worker.gone:
                await self._cancel(number, worker, exchange)
            raise
        self._give_up(worker, exchange)
        return RolloutFailure(kind=FailureKind.TIMEOUT, message=f"node {worker.node.name} has hung.")

    def _explain(self, worker: PooledWorker, exchange: JobExchange, error: BaseException) -> RolloutFailure:
        """The failed call as a failure of its jobs; the worker is lost unless only these jobs are the cause."""
        if isinstance(error, RayTaskError):
            return RolloutFailure(kind=FailureKind.CRASH, message=describe(error)[:MESSAGE_LIMIT])
        if not isinstance(error, RayError):
            raise error
        self._give_up(worker, exchange)
        return _lost(worker, describe(error))

    def _give_up(self, worker: PooledWorker, exchange: JobExchange) -> None:
        """Remove the worker if this is its exchange. `_run_alone` stops an actor of a single rollout itself."""
        if exchange is worker.exchange:
            self.pool.remove(worker)

    async def _cancel(self, number: int, worker: PooledWorker, exchange: JobExchange) -> None:
        """Stop the agent on its node and wait until it has stopped; a worker that does not obey is removed."""
        with anyio.CancelScope(shield=True), contextlib.suppress(RayError):
            with anyio.move_on_after(STOP_SECONDS) as limit:
                await exchange.cancel(number)
            if limit.cancelled_caught:
                self._give_up(worker, exchange)


def _salt_for(names: tuple[str, ...]) -> dict[str, str]:
    """The salt of the driver's user, with which nodes make the same fingerprint from forwarded values."""
    return {SALT_VARIABLE: os.fsdecode(local_salt())} if names else {}


def _lost(worker: PooledWorker, why: str) -> RolloutFailure:
    message = f"the worker on node {worker.node.name} was lost: {why}"[:MESSAGE_LIMIT]
    return RolloutFailure(kind=FailureKind.CONNECTION, message=message, lost=True)
