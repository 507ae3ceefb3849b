"""Packing and unpacking: objects arrive unchanged, and each digest is fetched once."""

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
from skillsv.rollout.ray.transfer import (
    INLINE_BYTES,
    NODE_SKILLS,
    FetchedObjects,
    ForgottenObject,
    Packer,
    Unpacker,
)


class Store:
    """An object store: a reference is the number of an object."""

    def __init__(self) -> None:
        self.objects = []
        self.fetches = Counter()

    def put(self, value) -> int:
        self.objects.append(value)
        return len(self.objects) - 1

    async def fetch(self, ref: int):
        self.fetches[ref] += 1
        await anyio.lowlevel.checkpoint()
        return self.objects[ref]


def toy_job(*, coalition=("m",), files=(), task: Task | None = None) -> Job:
    skill = render(frozenset(coalition), "delete", frozenset(coalition))
    skill = replace(skill, files=(*skill.files, *files))
    task = task or tasks(1)["t0"]
    return Job(key=RolloutKey(tree=skill.digest, task=task.digest, agent="a"), skill=skill, task=task)


LARGE = RenderedFile(path="large", data=b"x" * (INLINE_BYTES + 1), digest="large")

sizes = st.sampled_from([0, 1, INLINE_BYTES, INLINE_BYTES + 1, 3 * INLINE_BYTES])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(sizes, st.booleans(), st.booleans()), max_size=5))
def test_a_rendering_arrives_unchanged(tmp_path_factory, made):
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
        packed = await Packer(store.put).pack(job)
        return packed.skill.content, await Unpacker(folder, store.fetch).skill(packed.skill)

    content, arrived = anyio.run(go)
    assert arrived.contents == job.skill.contents
    for file, got in zip(job.skill.files, arrived.files, strict=True):
        assert (got.path, got.digest, got.executable) == (file.path, file.digest, file.executable)
        if file.data is None:
            assert got.origin is not None
            assert got.origin.read_bytes() == file.origin.read_bytes()
    size = sum(len(file.data) if file.data is not None else INLINE_BYTES + 1 for file in job.skill.files)
    assert (content.ref is None) == (size <= INLINE_BYTES), "a small rendering is sent with its jobs, a large one once"
    sent = content.value if content.ref is None else store.objects[content.ref]
    assert sum(len(file.data or b"") for file in sent.rendering.files) <= (len(made) + 1) * INLINE_BYTES


def test_each_digest_is_fetched_once_and_renderings_share_large_files(tmp_path):
    store = Store()
    (tmp_path / "data").write_text("d")
    task = Task(id="t", input="", digest="task", files={"data": tmp_path / "data"})
    jobs = [toy_job(coalition=("m", f"u{unit}"), files=(LARGE,), task=task) for unit in range(3)]

    async def go():
        packer, unpacker = Packer(store.put), Unpacker(tmp_path / "node", store.fetch)
        (tmp_path / "node").mkdir()

        async def one(job):
            packed = await packer.pack(job)
            assert await unpacker.skill(packed.skill) == replace(job.skill)
            arrived = await unpacker.task(packed.task)
            assert arrived.files["data"].read_text() == "d"
            assert arrived.files["data"].parent == tmp_path / "node"

        async with anyio.create_task_group() as group:
            for job in jobs * 5:
                group.start_soon(one, job)
        return unpacker.fetched

    fetched = anyio.run(go)
    assert set(fetched.values()) == {1}
    assert set(store.fetches.values()) == {1}
    assert len(store.objects) == 3 + 1 + 1 + 1, "three renderings, a task, its file, the large file"


def test_a_cancelled_fetch_is_repeated_by_the_next_request(tmp_path):
    store, calls, scopes = Store(), [], []

    async def fetch(ref):
        calls.append(ref)
        if len(calls) == 1:
            scopes[0].cancel()
            await anyio.sleep_forever()
        return await store.fetch(ref)

    async def go():
        packed = await Packer(store.put).pack(toy_job(files=(LARGE,)))
        unpacker = Unpacker(tmp_path, fetch)
        with anyio.CancelScope() as first:
            scopes.append(first)
            await unpacker.skill(packed.skill)
        assert len(calls) == 1
        return await unpacker.skill(packed.skill)

    assert anyio.run(go) == toy_job(files=(LARGE,)).skill


def test_driver_and_node_drop_the_least_recently_used_objects(tmp_path):
    store = Store()

    async def go():
        packer, unpacker = Packer(store.put, limit=2), Unpacker(tmp_path, store.fetch)
        for unit in range(NODE_SKILLS + 5):
            packed = await packer.pack(toy_job(coalition=("m", f"u{unit}")))
            await unpacker.skill(packed.skill)
        assert len(unpacker._skills) == NODE_SKILLS
        assert len(packer._skills._values) == 2
        first = await packer.pack(toy_job(coalition=("m", "u0")))
        return await unpacker.skill(first.skill)

    assert anyio.run(go) == toy_job(coalition=("m", "u0")).skill


def test_a_missing_file_of_a_task_is_a_file_not_found_error(tmp_path):
    task = Task(id="t", input="", digest="task", files={"data": Path(tmp_path / "gone")})

    async def go():
        await Packer(Store().put).pack(toy_job(task=task))

    with pytest.raises(FileNotFoundError):
        anyio.run(go)


@pytest.mark.parametrize("score_cut", [False, True])
def test_the_packed_job_keeps_the_setting_for_cut_answers(score_cut):
    packer, job = Packer(lambda _: 0), replace(toy_job(), score_cut=score_cut)
    jobs = [anyio.run(packer.pack, job) for _ in range(2)]  # the second time from memory
    assert [packed.score_cut for packed in jobs] == [score_cut] * 2


def test_what_a_worker_has_fetched_is_sent_without_references(tmp_path):
    store, fetched = Store(), FetchedObjects()
    packer, unpacker = Packer(store.put), Unpacker(tmp_path, store.fetch)
    first, other = toy_job(files=(LARGE,)), toy_job(coalition=("m", "u1"))

    async def transfer():
        packed = await packer.pack(first)
        assert fetched.shorten(packed) == packed
        known = await unpacker.skill(packed.skill), await unpacker.task(packed.task)
        fetched.add(packed)
        short = fetched.shorten(packed)
        assert [part.content.ref for part in (short.skill, short.task)] == [None, None]
        assert short.skill.files == ()
        assert (await unpacker.skill(short.skill), await unpacker.task(short.task)) == known
        new = fetched.shorten(await packer.pack(other))
        assert new.skill.content.value is not None, "the other skill was not sent yet"
        assert new.task.content.ref is None
        with pytest.raises(ForgottenObject):
            await Unpacker(tmp_path / "new", store.fetch).skill(short.skill)

    anyio.run(transfer)
