"""Which nodes get work: joins, losses, refusals, patience; on a cluster made of nothing."""

from collections import Counter
from contextlib import asynccontextmanager

import anyio
import pytest

from skillsv.errors import SettingsError, Unavailable
from skillsv.rollout.ray.cluster_options import ClusterOptions
from skillsv.rollout.ray.worker_pool import NodeInfo, WorkerPool


def node(name: str, **resources: float) -> NodeInfo:
    return NodeInfo(id=name, name=f"host-{name}", resources=resources or {"CPU": 2.0})


class Fake:
    """Workers are names. `stillborn` nodes give none, `wrong` ones refuse, `slow` ones never finish starting."""

    def __init__(self, *nodes: NodeInfo, stillborn=(), wrong=(), slow=()) -> None:
        self.alive = list(nodes)
        self.stillborn, self.wrong, self.slow = set(stillborn), set(wrong), set(slow)
        self.posted: Counter[str] = Counter()
        self.dismissed: list[str] = []

    def nodes(self):
        return list(self.alive)

    async def post(self, info, slots):
        self.posted[info.id] += 1
        if info.id in self.slow:
            await anyio.sleep_forever()
        if info.id in self.wrong:
            raise SettingsError("another skillsv is installed there.")
        return None if info.id in self.stillborn else f"{info.id}/{self.posted[info.id]}"

    def dismiss(self, worker):
        self.dismissed.append(worker)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def roster(fake: Fake, **options):
    """A roster that has looked once; `look()` looks again."""
    notes: list[str] = []
    clock = Clock()
    made = WorkerPool(fake, ClusterOptions(address="x", **options), note=notes.append, clock=clock)
    async with anyio.create_task_group() as group:

        async def look() -> None:
            made.look(fake.nodes(), group)
            await anyio.wait_all_tasks_blocked()

        await look()
        yield made, look, clock, notes
        group.cancel_scope.cancel()


def test_slots_follow_the_nodes_as_they_join_and_leave():
    async def go():
        fake, heard = Fake(node("a"), node("b", CPU=3.0)), []
        async with roster(fake) as (made, look, _, _):
            made.follow(lambda: heard.append(made.slots))
            assert made.slots == 5
            fake.alive.append(node("c"))
            await look()
            assert heard == [7]
            fake.alive = [info for info in fake.alive if info.id != "b"]
            await look()
            assert made.slots == 4
            assert fake.dismissed == ["b/1"]

    anyio.run(go)


def test_a_node_that_leaves_cancels_what_it_ran():
    async def go():
        fake = Fake(node("a"))
        async with roster(fake) as (made, look, _, _):
            post = await made.free_post()
            with anyio.CancelScope() as scope:
                post.running.add(scope)
                fake.alive = []
                await look()
                await anyio.sleep_forever()
            assert scope.cancelled_caught
            assert post.gone

    anyio.run(go)


def test_a_rollout_apart_outlives_the_nodes_worker_but_not_the_node():
    async def go():
        fake = Fake(node("a"))
        async with roster(fake) as (made, look, clock, _):
            post = await made.free_post()
            with anyio.CancelScope() as scope:
                post.apart.add(scope)
                assert post.free == 1
                made.retire(post)
                await anyio.wait_all_tasks_blocked()
                post.apart.discard(scope)
            assert not scope.cancelled_caught
            clock.now += 1
            await look()
            post = await made.free_post()
            with anyio.CancelScope() as scope:
                post.apart.add(scope)
                fake.alive = []
                await look()
                await anyio.sleep_forever()
            assert scope.cancelled_caught

    anyio.run(go)


def test_work_goes_where_there_is_most_room_and_waits_where_there_is_none():
    async def go():
        async with roster(Fake(node("a", CPU=1.0), node("b", CPU=2.0))) as (made, _, _, _):
            taken = []
            for _ in range(3):
                post = await made.free_post()
                post.running.add(anyio.CancelScope())
                taken.append(post.node.id)
            assert sorted(taken) == ["a", "b", "b"]
            with anyio.move_on_after(0.01) as waited:
                await made.free_post()
            assert waited.cancelled_caught
            busy = made.posts["b"]
            busy.running.pop()
            assert await made.free_post() is busy

    anyio.run(go)


def test_who_waits_gets_the_slot_that_is_released():
    async def go():
        async with roster(Fake(node("a", CPU=1.0))) as (made, _, _, _), anyio.create_task_group() as group:
            post = await made.free_post()
            scope = anyio.CancelScope()
            post.running.add(scope)
            got = []

            async def wait():
                got.append(await made.free_post())

            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert got == []
            post.running.discard(scope)
            made.released()
            await anyio.wait_all_tasks_blocked()
            assert got == [post]

    anyio.run(go)


def test_a_dead_worker_is_replaced_and_one_that_keeps_dying_less_and_less_often():
    async def go():
        fake = Fake(node("a"), stillborn={"a"})
        async with roster(fake) as (made, look, clock, _):
            for _ in range(600):
                clock.now += 0.1
                await look()
            assert 4 <= fake.posted["a"] <= 9, "after 0.5, 1, 2, 4 ... seconds, not at every look"
            fake.stillborn.clear()
            clock.now += 60
            await look()
            assert made.slots == 2
            post = made.posts["a"]
            made.succeeded(post)
            made.retire(post)
            made.retire(post)
            assert made.slots == 0
            clock.now += 1
            await look()
            assert made.slots == 2, "a node that had worked gets another worker soon"

    anyio.run(go)


def test_a_node_that_is_of_no_use_is_left_out_with_a_note_and_not_tried_again():
    async def go():
        fake = Fake(node("a"), node("b"), wrong={"b"})
        async with roster(fake) as (made, look, clock, notes):
            clock.now += 100
            await look()
            assert made.slots == 2
            assert fake.posted["b"] == 1
            assert notes == ["node host-b is left out: another skillsv is installed there."]

    anyio.run(go)


def test_if_no_node_is_of_use_the_reason_is_told():
    async def go():
        async with roster(Fake(node("a"), wrong={"a"})) as (made, _, _, _):
            with pytest.raises(SettingsError, match="another skillsv"):
                await made.free_post()

    anyio.run(go)


@pytest.mark.parametrize(
    ("fake", "words"),
    [
        (Fake(), "no node that could"),
        (Fake(node("a", memory=1.0)), "no node that could"),
        (Fake(node("a"), slow={"a"}), "room"),
    ],
)
def test_where_nobody_can_work_patience_ends(fake, words):
    async def go():
        async with roster(fake, patience=0.01) as (made, _, _, _):
            with pytest.raises(Unavailable, match=words):
                await made.free_post()

    anyio.run(go)


def test_a_node_that_dies_while_its_worker_starts_is_forgotten():
    async def go():
        fake = Fake(node("a"), slow={"a"})
        async with roster(fake) as (made, look, _, _):
            fake.alive = []
            await look()
            fake.slow.clear()
            fake.alive = [node("a")]
            await look()
            assert made.slots == 2

    anyio.run(go)


def test_a_head_that_does_not_answer_ends_the_run(monkeypatch):
    from skillsv.rollout.ray import worker_pool as module

    monkeypatch.setattr(module, "SILENCE_SECONDS", 0.01)

    async def go():
        import threading

        held = threading.Event()
        fake = Fake()
        fake.nodes = held.wait
        made = WorkerPool(fake, ClusterOptions(address="x"), note=lambda note: None)
        async with anyio.create_task_group() as group:
            group.start_soon(made.watch, group)
            with pytest.raises(Unavailable, match="head"):
                await made.free_post()
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
def test_how_much_a_node_takes(options, resources, slots):
    assert ClusterOptions(**options).slots_of(resources) == slots
