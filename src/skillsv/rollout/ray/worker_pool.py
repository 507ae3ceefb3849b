"""Which nodes can take work now: nodes that join get a worker, nodes that leave are crossed out with all they ran."""

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

LOOK_SECONDS = 1.0
"""How often the list of nodes is read."""

SILENCE_SECONDS = 20.0
"""How long the cluster's head may not answer before the run ends: after a minute Ray would end this process."""

LONGEST_PAUSE = 30.0
"""The longest wait before a node whose workers keep dying gets another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInfo:
    """A node of the cluster, as the cluster's head describes it."""

    id: str
    name: str
    resources: Mapping[str, float]


class Cluster(Protocol):
    """What the roster asks of a cluster: its nodes, and workers on them."""

    def nodes(self) -> list[NodeInfo]:
        """The nodes that are alive, as the head knows. May block; raises SkillSVError where the head is gone."""

    async def post(self, node: NodeInfo, slots: int) -> Any:
        """Start a worker on a node and open it. None where it died meanwhile; SkillSVError where it is of no use."""

    def dismiss(self, worker: Any) -> None:
        """End a worker with everything it runs."""


@dataclass(slots=True, eq=False)
class NodeWorkerHandle:
    """A worker on a node. `gone`: it will not answer.

    `running` are the rollouts it runs, as scopes that can be cancelled; `apart` those that have a worker of their own.
    """

    node: NodeInfo
    worker: Any
    slots: int
    running: set[anyio.CancelScope] = field(default_factory=set)
    apart: set[anyio.CancelScope] = field(default_factory=set)
    gone: bool = False

    @property
    def free(self) -> int:
        """How many more rollouts it takes."""
        return self.slots - len(self.running) - len(self.apart)


class WorkerPool:
    """The posts of a cluster. `changed` is called when there is more room than before."""

    def __init__(
        self,
        cluster: Cluster,
        options: ClusterOptions,
        *,
        note: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.posts: dict[str, NodeWorkerHandle] = {}
        self.trouble: SkillSVError | None = None
        self._cluster = cluster
        self._options = options
        self._note = note
        self._clock = clock
        self._sleep = sleep
        self._starting: dict[str, anyio.CancelScope] = {}
        self._refused: dict[str, SkillSVError] = {}
        self._deaths: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._said = False
        self._news = anyio.Event()
        self._followers: list[Callable[[], None]] = []

    @property
    def slots(self) -> int:
        """How many rollouts all workers take at once."""
        return sum(post.slots for post in self.posts.values())

    def follow(self, follower: Callable[[], None]) -> None:
        """Have `follower` called whenever there is more room than before."""
        self._followers.append(follower)

    async def watch(self, group: TaskGroup) -> None:
        """Keep the roster true until cancelled. Workers are started as tasks of `group`."""
        while True:
            try:
                with anyio.fail_after(SILENCE_SECONDS):
                    nodes = await anyio.to_thread.run_sync(self._cluster.nodes, abandon_on_cancel=True)
            except TimeoutError:
                self.end(Unavailable(f"the cluster's head has not answered for {SILENCE_SECONDS:g} s."))
                return
            except SkillSVError as error:
                self.end(error)
                return
            self.look(nodes, group)
            await self._sleep(LOOK_SECONDS)

    def look(self, nodes: list[NodeInfo], group: TaskGroup) -> None:
        """Compare the nodes that are alive with the posts: start workers, cross out what is gone."""
        alive = {node.id: node for node in nodes}
        for identity in [name for name in self.posts if name not in alive]:
            gone = self.posts[identity]
            self.retire(gone)
            for scope in tuple(gone.apart):
                scope.cancel()
        for identity in [name for name in self._starting if name not in alive]:
            self._starting.pop(identity).cancel()
        for node in nodes:
            slots = self._options.slots_of(node.resources)
            if slots > 0 and self._idle(node.id):
                self._starting[node.id] = anyio.CancelScope()
                group.start_soon(self._start, node, slots)

    def _idle(self, identity: str) -> bool:
        taken = identity in self.posts or identity in self._starting or identity in self._refused
        return not taken and self._clock() >= self._not_before.get(identity, 0.0)

    async def _start(self, node: NodeInfo, slots: int) -> None:
        scope = self._starting[node.id]
        try:
            with scope:
                worker = await self._cluster.post(node, slots)
                if worker is None:
                    self._died(node.id)
                else:
                    self.posts[node.id] = NodeWorkerHandle(node=node, worker=worker, slots=slots)
                    self._say_if_idle()
        except SkillSVError as error:
            self._refused[node.id] = error
            self._note(f"node {node.name} is left out: {error}")
        finally:
            if self._starting.get(node.id) is scope:
                del self._starting[node.id]
        self._wake()

    def _say_if_idle(self) -> None:
        """Say once that the run does not use all that the cluster offers."""
        jobs = self._options.jobs
        if jobs is not None and self.slots > jobs and not self._said:
            self._said = True
            self._note(f"the cluster has room for {self.slots} rollouts at once, or more; --jobs {jobs} is the limit.")

    def _died(self, identity: str) -> None:
        """The more often its workers die, the longer a node waits for the next one."""
        deaths = self._deaths[identity] = self._deaths.get(identity, 0) + 1
        self._not_before[identity] = self._clock() + min(LONGEST_PAUSE, 0.5 * 2.0 ** (deaths - 1))

    def succeeded(self, post: NodeWorkerHandle) -> None:
        """A rollout came back: the node is well."""
        self._deaths.pop(post.node.id, None)

    def retire(self, post: NodeWorkerHandle) -> None:
        """Its worker is dead, unreachable or hung: nothing is awaited from it any more, and it is ended."""
        if post.gone:
            return
        post.gone = True
        del self.posts[post.node.id]
        self._died(post.node.id)
        for scope in tuple(post.running):
            scope.cancel()
        self._cluster.dismiss(post.worker)

    def end(self, trouble: SkillSVError) -> None:
        """No more work can be done; whoever waits is told why."""
        self.trouble = self.trouble or trouble
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()
        for follower in self._followers:
            follower()

    def released(self) -> None:
        """A rollout ended, so that a slot is free."""
        self._news.set()
        self._news = anyio.Event()

    async def free_post(self) -> NodeWorkerHandle:
        """The post with most room; waits for one. Raises Unavailable where there is none for long."""
        with anyio.move_on_after(self._options.patience) as limit:
            while True:
                if self.trouble is not None:
                    raise self.trouble
                best = max(self.posts.values(), key=lambda post: post.free, default=None)
                if best is not None and best.free > 0:
                    return best
                if best is not None:
                    limit.deadline = anyio.current_time() + self._options.patience  # busy is not absent
                elif self._refused and not self._starting:
                    raise next(iter(self._refused.values()))
                await self._news.wait()
        raise self._nobody()

    def _nobody(self) -> Unavailable:
        if self._starting:
            what = "the cluster has nodes, but none has had room for a worker"
        else:
            what = "the cluster has no node that could take work"
        return Unavailable(
            f"{what} for {self._options.patience:g} s.",
            hint="Look with `ray status`: CPUs, and what --node-resources asks for. Everything that finished is kept.",
        )
