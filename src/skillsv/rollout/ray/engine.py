"""The engine that sends rollouts to the nodes of a Ray cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

import anyio
import ray
from ray.exceptions import RayError, RayTaskError

from skillsv.errors import SkillSVError
from skillsv.model.rollout import FailureKind, Rollout, RolloutFailure
from skillsv.rollout.engine import MESSAGE_LIMIT, Job
from skillsv.rollout.ray.cluster import RayCluster, connect, disconnect
from skillsv.rollout.ray.cluster_options import ClusterOptions, Recipe
from skillsv.rollout.ray.transfer import Order, Packer
from skillsv.rollout.ray.worker import Opening
from skillsv.rollout.ray.worker_pool import NodeWorkerHandle, WorkerPool
from skillsv.sandbox.user_function import describe

STOP_SECONDS = 8.0
"""How long a cancelled rollout may take to stop on its node; after that its worker is ended as a whole."""


class RayEngine:
    """Runs jobs on the nodes of a cluster, and answers for them as the local engine does.

    `recipe` makes agent and verifier on each node; `fingerprint` is the agent's here, and a node that makes another is
    left out. A worker or node that dies with a rollout gives a failure that is marked `lost`: it says nothing about the
    rollout, and the runner sends it again.
    """

    def __init__(
        self,
        recipe: Recipe,
        fingerprint: str,
        options: ClusterOptions | None = None,
        *,
        note: Callable[[str], None] = lambda _message: None,
    ) -> None:
        self._recipe = recipe
        self._fingerprint = fingerprint
        self._options = options or ClusterOptions()
        self._stack = AsyncExitStack()
        self._packer = Packer(ray.put)
        self._recipe_ref: Any = None
        self._cluster = RayCluster(self._options, self._opening)
        self.roster = WorkerPool(self._cluster, self._options, note=note)

    @property
    def slots(self) -> int | None:
        """The slots of all nodes that have a worker now; one where there is none, for the job that waits for it."""
        return max(1, self.roster.slots)

    def follow(self, more_room: Callable[[], None]) -> None:
        """Have `more_room` called when a node has joined."""
        self.roster.follow(more_room)

    async def __aenter__(self) -> Self:
        await connect(self._options)
        self._stack.callback(disconnect)
        try:
            self._recipe_ref = ray.put(self._recipe)
            group = await self._stack.enter_async_context(anyio.create_task_group())
            self._stack.callback(group.cancel_scope.cancel)
            group.start_soon(self.roster.watch, group)
            await self.roster.free_post()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        for post in tuple(self.roster.posts.values()):
            self.roster.retire(post)
        self._recipe_ref = None
        self._packer = Packer(ray.put)
        await self._stack.aclose()

    def _opening(self) -> Opening:
        names = self._options.forward_env
        return Opening(
            recipe=self._recipe_ref,
            secrets={name: os.environ[name] for name in names if name in os.environ},
            fingerprint=self._fingerprint,
        )

    async def run(self, job: Job) -> Rollout:
        """Run one job on the node with most room."""
        order = await self._packer.order(job)
        post = await self.roster.free_post()
        answer: Rollout | RolloutFailure | SkillSVError | None = None
        taken = post.apart if job.alone else post.running
        with anyio.CancelScope() as scope:
            taken.add(scope)
            try:
                answer = await (self._alone(post, order) if job.alone else self._answer(post, post.worker, order))
            finally:
                taken.discard(scope)
                self.roster.released()
        if isinstance(answer, SkillSVError):
            raise answer
        if isinstance(answer, Rollout):
            self.roster.succeeded(post)
            return answer
        failure = answer or _lost(post, "it is gone")
        return Rollout(key=job.key, task_id=job.task.id, score=None, failure=failure)

    async def _alone(self, post: NodeWorkerHandle, order: Order) -> Rollout | RolloutFailure | SkillSVError:
        """What comes back from a worker that runs nothing else; it takes one of the node's slots."""
        worker = await self._cluster.lone_worker(post.node)
        if worker is None:
            return _lost(post, "it could not start a worker")
        try:
            return await self._answer(post, worker, order)
        finally:
            self._cluster.dismiss(worker)

    async def _answer(
        self, post: NodeWorkerHandle, worker: Any, order: Order
    ) -> Rollout | RolloutFailure | SkillSVError:
        """What comes back from the worker. One that dies or does not answer in time is given up."""
        reply = worker.run.remote(order)
        limit = None if order.timeout is None else order.timeout + self._options.late
        answer: Rollout | SkillSVError
        try:
            with anyio.move_on_after(limit):
                answer = await reply
                return answer
        except RayTaskError as error:
            return RolloutFailure(kind=FailureKind.CRASH, message=describe(error)[:MESSAGE_LIMIT])
        except RayError as error:
            self._give_up(post, worker)
            return _lost(post, describe(error))
        except anyio.get_cancelled_exc_class():
            if worker is not post.worker or not post.gone:
                await self._stop(reply, post, worker)
            raise
        self._give_up(post, worker)
        return RolloutFailure(kind=FailureKind.TIMEOUT, message=f"node {post.node.name} has hung.")

    def _give_up(self, post: NodeWorkerHandle, worker: Any) -> None:
        """Nothing more is expected of this worker. One that ran a single rollout is ended by whoever started it."""
        if worker is post.worker:
            self.roster.retire(post)

    async def _stop(self, reply: Any, post: NodeWorkerHandle, worker: Any) -> None:
        """Stop the agent on its node and wait until it has stopped; a worker that does not obey is ended."""
        with anyio.CancelScope(shield=True), contextlib.suppress(RayError):
            with anyio.move_on_after(STOP_SECONDS) as patience:
                ray.cancel(reply)
                await reply
            if patience.cancelled_caught:
                self._give_up(post, worker)


def _lost(post: NodeWorkerHandle, why: str) -> RolloutFailure:
    message = f"the worker on node {post.node.name} was lost: {why}"[:MESSAGE_LIMIT]
    return RolloutFailure(kind=FailureKind.CONNECTION, message=message, lost=True)
