"""The worker pool on a cluster cluster: nodes that join, leave or are refused, and the wait for a node."""

from collections import Counter
from contextlib import asynccontextmanager

import anyio
import pytest

from skillsv.errors import SettingsError, Unavailable
from skillsv.rollout.ray.cluster_options import ClusterOptions
from skillsv.rollout.ray.worker_pool import NodeInfo, WorkerPool


def node(name: str, **resources: float) -> NodeInfo:
    return NodeInfo(id=name, name=f"host-{name}", resources=resources or {"CPU": 2.0})


class FakeCluster:
    """Actors are names. Actors of `dying` nodes die at once, `wrong` nodes are refused, `slow` ones never start."""

    def __init__(self, *nodes: NodeInfo, dying=(), wrong=(), slow=()) -> None:
        self.alive = list(nodes)
        self.dying, self.wrong, self.slow = set(dying), set(wrong), set(slow)
        self.starts: Counter[str] = Counter()
        self.stopped: list[str] = []

    def nodes(self):
        return list(self.alive)

    async def start_worker(self, info, slots):
        self.starts[info.id] += 1
        if info.id in self.slow:
            await anyio.sleep_forever()
        if info.id in self.wrong:
            raise SettingsError("another skillsv is installed there.")
        return None if info.id in self.dying else f"{info.id}/{self.starts[info.id]}"

    def stop_worker(self, actor):
        self.stopped.append(actor)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def worker_pool(cluster: FakeCluster, **options):
    """A pool that has read the list of nodes once; `update()` reads it again."""
    notes: list[str] = []
    clock = Clock()
    pool = WorkerPool(cluster, ClusterOptions(address="x", **options), note=notes.append, clock=clock)
    async with anyio.create_task_group() as group:

        async def update() -> None:
            pool.update(cluster.nodes(), group)
            await anyio.wait_all_tasks_blocked()

        await update()
        yield pool, update, clock, notes
        group.cancel_scope.cancel()


def test_slots_follow_the_nodes_as_they_join_and_leave():
    async def go():
        cluster, slots = FakeCluster(node("a"), node("b", CPU=3.0)), []
        async with worker_pool(cluster) as (pool, update, _, _):
            pool.call_on_growth(lambda: slots.append(pool.slots))
            assert pool.slots == 5
            cluster.alive.append(node("c"))
            await update()
            assert slots == [7]
            cluster.alive = [info for info in cluster.alive if info.id != "b"]
            await update()
            assert pool.slots == 4
            assert cluster.stopped == ["b/1"]

    anyio.run(go)


def test_a_node_that_leaves_cancels_its_rollouts():
    async def go():
        cluster = FakeCluster(node("a"))
        async with worker_pool(cluster) as (pool, update, _, _):
            worker = await pool.free_worker()
            with anyio.CancelScope() as scope:
                worker.running.add(scope)
                cluster.alive = []
                await update()
                await anyio.sleep_forever()
            assert scope.cancelled_caught
            assert worker.gone

    anyio.run(go)


def test_a_rollout_that_runs_alone_ends_with_the_node_not_its_worker():
    async def go():
        cluster = FakeCluster(node("a"))
        async with worker_pool(cluster) as (pool, update, clock, _):
            worker = await pool.free_worker()
            with anyio.CancelScope() as scope:
                worker.running_alone.add(scope)
                assert worker.free == 1
                pool.remove(worker)
                await anyio.wait_all_tasks_blocked()
                worker.running_alone.discard(scope)
            assert not scope.cancelled_caught
            clock.now += 1
            await update()
            worker = await pool.free_worker()
            with anyio.CancelScope() as scope:
                worker.running_alone.add(scope)
                cluster.alive = []
                await update()
                await anyio.sleep_forever()
            assert scope.cancelled_caught

    anyio.run(go)


def test_work_goes_to_the_worker_with_most_free_slots():
    async def go():
        async with worker_pool(FakeCluster(node("a", CPU=1.0), node("b", CPU=2.0))) as (pool, _, _, _):
            taken = []
            for _ in range(3):
                worker = await pool.free_worker()
                worker.running.add(anyio.CancelScope())
                taken.append(worker.node.id)
            assert sorted(taken) == ["a", "b", "b"]
            with anyio.move_on_after(0.01) as waited:
                await pool.free_worker()
            assert waited.cancelled_caught
            busy = pool.workers["b"]
            busy.running.pop()
            assert await pool.free_worker() is busy

    anyio.run(go)


def test_a_waiting_request_gets_the_slot_that_is_slot_released():
    async def go():
        async with worker_pool(FakeCluster(node("a", CPU=1.0))) as (pool, _, _, _), anyio.create_task_group() as group:
            worker = await pool.free_worker()
            scope = anyio.CancelScope()
            worker.running.add(scope)
            got = []

            async def wait():
                got.append(await pool.free_worker())

            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert got == []
            worker.running.discard(scope)
            pool.slot_released()
            await anyio.wait_all_tasks_blocked()
            assert got == [worker]

    anyio.run(go)


def test_a_worker_that_keeps_dying_is_replaced_at_longer_intervals():
    async def go():
        cluster = FakeCluster(node("a"), dying={"a"})
        async with worker_pool(cluster) as (pool, update, clock, _):
            for _ in range(600):
                clock.now += 0.1
                await update()
            assert 4 <= cluster.starts["a"] <= 9, "after 0.5, 1, 2, 4 ... seconds, not at every update"
            cluster.dying.clear()
            clock.now += 60
            await update()
            assert pool.slots == 2
            worker = pool.workers["a"]
            pool.reset_deaths(worker)
            pool.remove(worker)
            pool.remove(worker)
            assert pool.slots == 0
            clock.now += 1
            await update()
            assert pool.slots == 2, "a node that had worked gets another worker soon"

    anyio.run(go)


def test_a_node_that_is_refused_is_noted_and_not_tried_again():
    async def go():
        cluster = FakeCluster(node("a"), node("b"), wrong={"b"})
        async with worker_pool(cluster) as (pool, update, clock, notes):
            clock.now += 100
            await update()
            assert pool.slots == 2
            assert cluster.starts["b"] == 1
            assert notes == ["node host-b is left out: another skillsv is installed there."]

    anyio.run(go)


def test_if_every_node_is_refused_the_first_error_is_raised():
    async def go():
        async with worker_pool(FakeCluster(node("a"), wrong={"a"})) as (pool, _, _, _):
            with pytest.raises(SettingsError, match="another skillsv"):
                await pool.free_worker()

    anyio.run(go)


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (FakeCluster(), "no node that could"),
        (FakeCluster(node("a", memory=1.0)), "no node that could"),
        (FakeCluster(node("a"), slow={"a"}), "room"),
    ],
)
def test_waiting_for_a_node_ends_with_unavailable(cluster, words):
    async def go():
        async with worker_pool(cluster, node_wait=0.01) as (pool, _, _, _):
            with pytest.raises(Unavailable, match=words):
                await pool.free_worker()

    anyio.run(go)


def test_a_node_that_dies_while_its_worker_starts_may_join_again():
    async def go():
        cluster = FakeCluster(node("a"), slow={"a"})
        async with worker_pool(cluster) as (pool, update, _, _):
            cluster.alive = []
            await update()
            cluster.slow.clear()
            cluster.alive = [node("a")]
            await update()
            assert pool.slots == 2

    anyio.run(go)


def test_a_head_that_does_not_answer_ends_the_run(monkeypatch):
    from skillsv.rollout.ray import worker_pool as module

    monkeypatch.setattr(module, "HEAD_TIMEOUT", 0.01)

    async def go():
        import threading

        held = threading.Event()
        cluster = FakeCluster()
        cluster.nodes = held.wait
        pool = WorkerPool(cluster, ClusterOptions(address="x"), note=lambda note: None)
        async with anyio.create_task_group() as group:
            group.start_soon(pool.watch, group)
            with pytest.raises(Unavailable, match="head"):
                await pool.free_worker()
            held.set()

    anyio.run(go)


@pytest.mark.parametrize(
    ("options", "resources", "slots"),
    [
        ({}, {"CPU": 4.0}, 4),
        ({}, {"memory": 1.0}, 0),
        ({"slots_per_node": 9}, {"CPU": 4.0}, 9),
        ({"slots_per_node": 9}, {"CPU": 0.0}, 0),
        ({"resources": {"GPU": 1.0}}, {"CPU": 4.0, "GPU": 2.0}, 2),
        ({"resources": {"GPU": 0.5}}, {"CPU": 4.0, "GPU": 1.0}, 2),
        ({"resources": {"GPU": 1.0}}, {"CPU": 4.0}, 0),
        ({"resources": {"box": 0.1}, "slots_per_node": 20}, {"box": 1.0}, 10),
    ],
)
def test_the_slots_of_a_node(options, resources, slots):
    assert ClusterOptions(**options).slots_of(resources) == slots
