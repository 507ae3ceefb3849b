"""Packing and unpacking: what arrives is what was sent, and each digest travels once."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import render, tasks

from skillsv.model.coalition import RenderedFile
from skillsv.model.rollout import RolloutKey
from skillsv.model.task import Task
from skillsv.rollout.engine import Job
from skillsv.rollout.ray.transfer import INLINE_BYTES, SKILLS, NodeCache, Packer


class Store:
    """An object store: a reference is the number of an object."""

    def __init__(self) -> None:
        self.held = []
        self.fetches = Counter()

    def put(self, value) -> int:
        self.held.append(value)
        return len(self.held) - 1

    async def fetch(self, ref: int):
        self.fetches[ref] += 1
        await anyio.lowlevel.checkpoint()
        return self.held[ref]


def toy_job(*, kept=("m",), files=(), task: Task | None = None) -> Job:
    skill = render(frozenset(kept), "delete", frozenset(kept))
    skill = replace(skill, files=(*skill.files, *files))
    task = task or tasks(1)["t0"]
    return Job(key=RolloutKey(tree=skill.digest, task=task.digest, agent="a"), skill=skill, task=task)


sizes = st.sampled_from([0, 1, INLINE_BYTES, INLINE_BYTES + 1, 3 * INLINE_BYTES])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(sizes, st.booleans(), st.booleans()), max_size=5))
def test_a_rendering_arrives_as_it_was(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("node")
    files = []
    for index, (size, in_memory, executable) in enumerate(made):
        data = bytes([index]) * size
        origin = folder / f"origin-{index}"
        origin.write_bytes(data)
        files.append(
            RenderedFile(
                path=f"f{index}",
                data=data if in_memory else None,
                digest=f"{index}",
                executable=executable,
                origin=None if in_memory else origin,
            )
        )
    job, store = toy_job(files=files), Store()

    async def go():
        order = await Packer(store.put).order(job)
        return await NodeCache(folder, store.fetch).skill(order.skill)

    arrived = anyio.run(go)
    assert arrived.contents == job.skill.contents
    for sent, got in zip(job.skill.files, arrived.files, strict=True):
        assert (got.path, got.digest, got.executable) == (sent.path, sent.digest, sent.executable)
        if sent.data is None:
            assert got.origin is not None
            assert got.origin.read_bytes() == sent.origin.read_bytes()
    light = [held for held in store.held if hasattr(held, "rendering")]
    assert sum(len(file.data or b"") for file in light[0].rendering.files) <= (len(made) + 1) * INLINE_BYTES


def test_many_at_once_fetch_each_digest_once_and_a_large_file_is_shared_by_renderings(tmp_path):
    store = Store()
    large = RenderedFile(path="large", data=b"x" * (INLINE_BYTES + 1), digest="large")
    (tmp_path / "data").write_text("d")
    task = Task(id="t", input="", digest="task", files={"data": tmp_path / "data"})
    jobs = [toy_job(kept=("m", f"u{unit}"), files=(large,), task=task) for unit in range(3)]

    async def go():
        packer, shelf = Packer(store.put), NodeCache(tmp_path / "node", store.fetch)
        (tmp_path / "node").mkdir()

        async def one(job):
            order = await packer.order(job)
            assert await shelf.skill(order.skill) == replace(job.skill)
            arrived = await shelf.task(order.task)
            assert arrived.files["data"].read_text() == "d"
            assert arrived.files["data"].parent == tmp_path / "node"

        async with anyio.create_task_group() as group:
            for job in jobs * 5:
                group.start_soon(one, job)
        return shelf.fetched

    fetched = anyio.run(go)
    assert set(fetched.values()) == {1}
    assert set(store.fetches.values()) == {1}
    assert len(store.held) == 3 + 1 + 1 + 1, "three renderings, a task, its file, the large file"


def test_a_fetch_that_is_cancelled_leaves_the_next_to_try_again(tmp_path):
    store, tries, scopes = Store(), [], []

    async def fetch(ref):
        tries.append(ref)
        if len(tries) == 1:
            scopes[0].cancel()
            await anyio.sleep_forever()
        return await store.fetch(ref)

    async def go():
        order = await Packer(store.put).order(toy_job())
        shelf = NodeCache(tmp_path, fetch)
        with anyio.CancelScope() as first:
            scopes.append(first)
            await shelf.skill(order.skill)
        assert len(tries) == 1
        return await shelf.skill(order.skill)

    assert anyio.run(go) == toy_job().skill


def test_the_driver_lets_go_of_what_was_not_used_lately_and_a_node_too(tmp_path):
    store = Store()

    async def go():
        packer, shelf = Packer(store.put, kept=2), NodeCache(tmp_path, store.fetch)
        for unit in range(SKILLS + 5):
            order = await packer.order(toy_job(kept=("m", f"u{unit}")))
            await shelf.skill(order.skill)
        assert len(shelf._skills) == SKILLS
        assert len(packer._skills._values) == 2
        first = await packer.order(toy_job(kept=("m", "u0")))
        return await shelf.skill(first.skill)

    assert anyio.run(go) == toy_job(kept=("m", "u0")).skill


def test_a_task_whose_file_is_gone_is_told_as_the_error_it_is(tmp_path):
    task = Task(id="t", input="", digest="task", files={"data": Path(tmp_path / "gone")})

    async def go():
        await Packer(Store().put).order(toy_job(task=task))

    with pytest.raises(FileNotFoundError):
        anyio.run(go)


@pytest.mark.parametrize("score_cut", [False, True])
def test_what_becomes_of_cut_answers_travels_with_the_job(score_cut):
    packer, job = Packer(lambda _: 0), replace(toy_job(), score_cut=score_cut)
    orders = [anyio.run(packer.order, job) for _ in range(2)]  # packed, and known from the first time
    assert [order.score_cut for order in orders] == [score_cut] * 2
