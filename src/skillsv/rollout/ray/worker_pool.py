"""The worker pool of a cluster: a node that joins gets a worker; a node that leaves loses it with its rollouts."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from skillsv.errors import SkillSVError, Unavailable
from skillsv.rollout.ray.cluster_options import ClusterOptions
from skillsv.rollout.ray.job_exchange import JobExchange
from skillsv.rollout.ray.transfer import FetchedObjects

UPDATE_SECONDS = 1.0
"""Seconds between two readings of the list of nodes."""

HEAD_TIMEOUT = 20.0
"""Seconds without an answer of the cluster's head before the run ends: after a minute Ray would end this process."""

LONGEST_PAUSE = 30.0
"""The longest wait in seconds before a node whose workers keep dying gets another worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInfo:
    """A node of the cluster, as the cluster's head describes it."""

    id: str
    name: str
    resources: Mapping[str, float]


class Cluster(Protocol):
    """What the pool needs of a cluster: its nodes, and workers on them."""

    def nodes(self) -> list[NodeInfo]:
        """The nodes that are alive. May block; raises SkillSVError if the head does not answer."""

    async def start_worker(self, node: NodeInfo, slots: int) -> Any:
        """Start an actor on a node and open it. None if it died meanwhile; SkillSVError if the node cannot be used."""

    def stop_worker(self, actor: Any) -> None:
        """Stop an actor with everything it runs."""


@dataclass(slots=True, eq=False)
class PooledWorker:
    """The worker of a node, as the driver sees it. `actor` is its Ray actor; `gone`: it will not answer any more.

    `running` are the scopes that cancel its rollouts; `running_alone` those of rollouts on an actor of their own, which
    use slots of this node, too. `fetched` is what its actor was sent before; `exchange` sends it jobs.
    """

    node: NodeInfo
    actor: Any
    slots: int
    running: set[anyio.CancelScope] = field(default_factory=set)
    running_alone: set[anyio.CancelScope] = field(default_factory=set)
    fetched: FetchedObjects = field(default_factory=FetchedObjects)
    gone: bool = False
    exchange: JobExchange = field(init=False)

    def __post_init__(self) -> None:
        self.exchange = JobExchange(self.actor)

    @property
    def free(self) -> int:
        """How many more rollouts the node can run."""
        return self.slots - len(self.running) - len(self.running_alone)


class WorkerPool:
    """The workers of a cluster by node. `error` is why no more work can be done."""

    def __init__(
        self,
        cluster: Cluster,
        options: ClusterOptions,
        *,
        note: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.workers: dict[str, PooledWorker] = {}
        self.error: SkillSVError | None = None
        self._cluster = cluster
        self._options = options
        self._note = note
        self._clock = clock
        self._sleep = sleep
        self._starting: dict[str, anyio.CancelScope] = {}
        self._refused: dict[str, SkillSVError] = {}
        self._deaths: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._noted_idle_slots = False
        self._changed = anyio.Event()
        self._on_growth: list[Callable[[], None]] = []

    @property
    def slots(self) -> int:
        """How many rollouts all workers run at once."""
        return sum(worker.slots for worker in self.workers.values())

    def call_on_growth(self, callback: Callable[[], None]) -> None:
        """Call `callback` whenever the number of slots may have increased."""
        self._on_growth.append(callback)

    async def watch(self, group: TaskGroup) -> None:
        """Keep the pool up to date until cancelled. Workers are started as tasks of `group`."""
        while True:
            try:
                with anyio.fail_after(HEAD_TIMEOUT):
                    nodes = await anyio.to_thread.run_sync(self._cluster.nodes, abandon_on_cancel=True)
            except TimeoutError:
                self.fail(Unavailable(f"the cluster's head has not answered for {HEAD_TIMEOUT:g} s."))
                return
            except SkillSVError as error:
                self.fail(error)
                return
            self.update(nodes, group)
            await self._sleep(UPDATE_SECONDS)

    def update(self, nodes: list[NodeInfo], group: TaskGroup) -> None:
        """Start workers on new nodes, and remove those of nodes that are not alive any more."""
        alive = {node.id for node in nodes}
        for node_id in [node_id for node_id in self.workers if node_id not in alive]:
            worker = self.workers[node_id]
            self.remove(worker)
            for scope in tuple(worker.running_alone):
                scope.cancel()
        for node_id in [node_id for node_id in self._starting if node_id not in alive]:
            self._starting.pop(node_id).cancel()
        for node in nodes:
            slots = self._options.slots_of(node.resources)
            if slots > 0 and self._needs_worker(node.id):
                self._starting[node.id] = anyio.CancelScope()
                group.start_soon(self._start, node, slots)

    def _needs_worker(self, node_id: str) -> bool:
        taken = node_id in self.workers or node_id in self._starting or node_id in self._refused
        return not taken and self._clock() >= self._not_before.get(node_id, 0.0)

    async def _start(self, node: NodeInfo, slots: int) -> None:
        scope = self._starting[node.id]
        try:
            with scope:
                actor = await self._cluster.start_worker(node, slots)
                if actor is None:
                    self._delay_next_worker(node.id)
                else:
                    self.workers[node.id] = PooledWorker(node=node, actor=actor, slots=slots)
                    self._note_idle_slots()
        except SkillSVError as error:
            self._refused[node.id] = error
            self._note(f"node {node.name} is left out: {error}")
        finally:
            if self._starting.get(node.id) is scope:
                del self._starting[node.id]
        self._announce_growth()

    def _note_idle_slots(self) -> None:
        """Note once that the run does not use all slots of the cluster."""
        jobs = self._options.jobs
        if jobs is not None and self.slots > jobs and not self._noted_idle_slots:
            self._noted_idle_slots = True
            self._note(f"the cluster has room for {self.slots} rollouts at once, or more; --jobs {jobs} is the limit.")

    def _delay_next_worker(self, node_id: str) -> None:
        """After the death of a worker: the more deaths on a node, the longer the wait for its next worker."""
        deaths = self._deaths[node_id] = self._deaths.get(node_id, 0) + 1
        self._not_before[node_id] = self._clock() + min(LONGEST_PAUSE, 0.5 * 2.0 ** (deaths - 1))

    def reset_deaths(self, worker: PooledWorker) -> None:
        """Forget earlier deaths on a node that has returned a rollout."""
        self._deaths.pop(worker.node.id, None)

    def remove(self, worker: PooledWorker) -> None:
        """Remove a worker that is dead, unreachable or hung: cancel its rollouts and stop it."""
        if worker.gone:
            return
        worker.gone = True
        del self.workers[worker.node.id]
        self._delay_next_worker(worker.node.id)
        for scope in tuple(worker.running):
            scope.cancel()
        self._cluster.stop_worker(worker.actor)

    def fail(self, error: SkillSVError) -> None:
        """Record that no more work can be done; `free_worker` raises the error."""
        self.error = self.error or error
        self._announce_growth()

    def _announce_growth(self) -> None:
        self.slot_released()
        for callback in self._on_growth:
            callback()

    def slot_released(self) -> None:
        """Wake those who wait for a slot: a rollout has ended."""
        self._changed.set()
        self._changed = anyio.Event()

    async def free_worker(self) -> PooledWorker:
        """The worker with most free slots; waits for one. Raises Unavailable if there is no worker for long."""
        with anyio.move_on_after(self._options.node_wait) as limit:
            while True:
                if self.error is not None:
                    raise self.error
                best = max(self.workers.values(), key=lambda worker: worker.free, default=None)
                if best is not None and best.free > 0:
                    return best
                if best is not None:
                    # Busy workers are no reason to give up: the wait begins anew.
                    limit.deadline = anyio.current_time() + self._options.node_wait
                elif self._refused and not self._starting:
                    raise next(iter(self._refused.values()))
                await self._changed.wait()
        raise self._no_worker()

    def _no_worker(self) -> Unavailable:
        if self._starting:
            what = "the cluster has nodes, but none has had room for a worker"
        else:
            what = "the cluster has no node that could take work"
        return Unavailable(
            f"{what} for {self._options.node_wait:g} s.",
            hint="Look with `ray status`: CPUs, and what --node-resources asks for. Everything that finished is kept.",
        )
