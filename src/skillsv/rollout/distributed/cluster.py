"""Ray's side of the roster: nodes as the head knows them, and workers as actors pinned to a node."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skillsv.errors import SkillSVError, Unavailable
from skillsv.rollout.distributed.options import ClusterOptions
from skillsv.rollout.distributed.roster import NodeInfo
from skillsv.rollout.distributed.worker import NodeWorker, Opening
from skillsv.sandbox.callables import describe

SPARE_CALLS = 64
"""Calls beside the rollouts that a worker takes: those that are being cancelled, and questions."""


class RayCluster:
    """A cluster that this process has joined. Nothing is retried or restarted by Ray: the runner does that."""

    def __init__(self, options: ClusterOptions, opening: Callable[[], Opening]) -> None:
        self._options = options
        self._opening = opening

    def nodes(self) -> list[NodeInfo]:
        """The nodes that are alive."""
        try:
            found = ray.nodes()  # type: ignore[no-untyped-call]
        except (RayError, OSError, RuntimeError) as error:
            raise Unavailable(f"the cluster's head is gone: {describe(error)}.") from error
        return [
            NodeInfo(id=node["NodeID"], name=node["NodeManagerAddress"], resources=node["Resources"])
            for node in found
            if node["Alive"]
        ]

    async def post(self, node: NodeInfo, slots: int) -> Any:
        """Start the worker of a node. It waits there for the resources it reserves."""
        return await self._start(node, slots, {name: each * slots for name, each in self._options.resources.items()})

    async def lone_worker(self, node: NodeInfo) -> Any:
        """Start a worker for one rollout, on resources that the node's own worker has reserved."""
        return await self._start(node, 1, {})

    async def _start(self, node: NodeInfo, slots: int, reserved: dict[str, float]) -> Any:
        named = {"num_cpus": reserved.pop("CPU", 0), "num_gpus": reserved.pop("GPU", 0)}
        actor = ray.remote(NodeWorker).options(
            **named,
            resources=reserved,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=slots + SPARE_CALLS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node.id, soft=False),
        )
        worker: Any = actor.remote()
        opened = False
        try:
            answer: SkillSVError | None = await worker.open.remote(self._opening())
            if answer is not None:
                raise answer
            opened = True
        except RayError:
            return None
        finally:
            if not opened:
                self.dismiss(worker)
        return worker

    def dismiss(self, worker: Any) -> None:
        """End the worker; its warden ends what it ran."""
        with contextlib.suppress(RayError):
            ray.kill(worker, no_restart=True)
