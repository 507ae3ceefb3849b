"""Jobs on their way to a node: the driver packs them, the node unpacks them; each skill and file is sent once."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread

from skillsv.model.coalition import RenderedFile, Rendering
from skillsv.model.rollout import RolloutKey
from skillsv.model.task import Task
from skillsv.rollout.engine import Job

INLINE_BYTES = 16 * 1024
"""A file of a rendering up to this size is sent with it; a larger one is an object of its own that renderings share.

A rendering up to this size is sent with the jobs that need it: storing an object costs the driver more.
"""

DRIVER_OBJECTS = 1024
"""How many packed skills, tasks and files the driver keeps, each."""

NODE_SKILLS = 256
"""How many renderings a node keeps in memory; older ones are fetched again."""

T = TypeVar("T")

Fetch = Callable[[Any], Awaitable[Any]]
"""Gets an object from the cluster's object store by its reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object in the cluster's object store: the digest of its content, and the reference that fetches it.

    A small object has no reference, but its `value`. Without both the worker has it already.
    """

    digest: str
    ref: Any = None
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Generic[T]):
    """A stored object of type `T` without its files, and the stored files."""

    content: StoredObject
    files: tuple[StoredObject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedSkill:
    """A rendering without its large files. `in_memory` are the paths of large files that it has in memory."""

    rendering: Rendering
    in_memory: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFile:
    """The bytes of one file."""

    data: bytes
    executable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTask:
    """A task without the driver's paths: `files` maps the path in the workspace to the digest of the stored file."""

    task: Task
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedJob:
    """One job as it is sent to a node."""

    key: RolloutKey
    timeout: float | None
    skill: Packed[PackedSkill]
    task: Packed[PackedTask]
    score_cut: bool = False


class Packer:
    """Packs jobs on the driver. It keeps the `limit` most recently used objects of a kind and packs others again."""

    def __init__(self, put: Callable[[Any], Any], limit: int = DRIVER_OBJECTS) -> None:
        self._put = put
        self._skills: _RecentlyUsed[Packed[PackedSkill]] = _RecentlyUsed(limit)
        self._tasks: _RecentlyUsed[Packed[PackedTask]] = _RecentlyUsed(limit)
        self._files: _RecentlyUsed[StoredObject] = _RecentlyUsed(limit)
        self._lock = anyio.Lock()

    async def pack(self, job: Job) -> PackedJob:
        """The packed job. Files are read in a thread."""
        known_skill = job.key.tree in self._skills or _is_small(job.skill)
        known_task = job.key.task in self._tasks or not job.task.files
        if known_skill and known_task:
            return self._pack(job)
        async with self._lock:
            return await anyio.to_thread.run_sync(self._pack, job)

    def _pack(self, job: Job) -> PackedJob:
        tree, task = job.key.tree, job.key.task
        return PackedJob(
            key=job.key,
            timeout=job.timeout,
            skill=self._skills.get(tree) or self._skills.add(tree, self._pack_skill(job.skill)),
            task=self._tasks.get(task) or self._tasks.add(task, self._pack_task(job.task)),
            score_cut=job.score_cut,
        )

    def _pack_skill(self, rendering: Rendering) -> Packed[PackedSkill]:
        large = [file for file in rendering.files if file.data is None or len(file.data) > INLINE_BYTES]
        stored = tuple(self._store_file(_bytes(file), executable=file.executable) for file in large)
        digests = {file.path: Path(item.digest) for file, item in zip(large, stored, strict=True)}
        files = tuple(
            replace(file, data=None, origin=digests[file.path]) if file.path in digests else file
            for file in rendering.files
        )
        in_memory = frozenset(file.path for file in large if file.data is not None)
        packed = PackedSkill(rendering=replace(rendering, files=files), in_memory=in_memory)
        if _is_small(rendering):
            return Packed(content=StoredObject(digest=rendering.digest, value=packed), files=())
        return Packed(content=StoredObject(digest=rendering.digest, ref=self._put(packed)), files=stored)

    def _pack_task(self, task: Task) -> Packed[PackedTask]:
        stored = {
            name: self._store_file(origin.read_bytes(), executable=bool(origin.stat().st_mode & 0o111))
            for name, origin in task.files.items()
        }
        packed = PackedTask(task=replace(task, files={}), files={name: item.digest for name, item in stored.items()})
        return Packed(content=StoredObject(digest=task.digest, ref=self._put(packed)), files=tuple(stored.values()))

    def _store_file(self, data: bytes, *, executable: bool) -> StoredObject:
        digest = f"{hashlib.sha256(data).hexdigest()}{'-x' if executable else ''}"
        known = self._files.get(digest)
        return known or self._files.add(
            digest, StoredObject(digest=digest, ref=self._put(PackedFile(data=data, executable=executable)))
        )


class ForgottenObject(Exception):
    """A worker was sent a job without a reference to an object that it does not keep any more."""


class FetchedObjects:
    """What a worker has fetched, as far as the driver knows, by digest.

    Such objects go without references: Ray tracks each reference of each call, which takes more of the driver's time
    than the rest of the call.
    """

    def __init__(self) -> None:
        self._skills: _RecentlyUsed[Packed[PackedSkill]] = _RecentlyUsed(NODE_SKILLS // 2)
        self._tasks: _RecentlyUsed[Packed[PackedTask]] = _RecentlyUsed(DRIVER_OBJECTS)

    def shorten(self, job: PackedJob) -> PackedJob:
        """The job without references to what the worker has."""
        skill, task = self._skills.get(job.skill.content.digest), self._tasks.get(job.task.content.digest)
        return replace(job, skill=skill or job.skill, task=task or job.task)

    def add(self, job: PackedJob) -> None:
        """The worker has run this job."""
        skill, task = job.skill.content.digest, job.task.content.digest
        self._skills.add(skill, Packed(content=StoredObject(digest=skill), files=()))
        self._tasks.add(task, Packed(content=StoredObject(digest=task), files=()))


def _is_small(rendering: Rendering) -> bool:
    """Whether the rendering is in memory, and sent with a job."""
    sizes = [INLINE_BYTES + 1 if file.data is None else len(file.data) for file in rendering.files]
    return sum(sizes) <= INLINE_BYTES


def _bytes(file: RenderedFile) -> bytes:
    if file.data is not None:
        return file.data
    assert file.origin is not None, "a rendered file has bytes or an origin"
    return file.origin.read_bytes()


class _RecentlyUsed(Generic[T]):
    """The most recently used values by name, at most `limit`. Threads may share it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str) -> T | None:
        with self._lock:
            if name in self._values:
                self._values.move_to_end(name)
            return self._values.get(name)

    def add(self, name: str, value: T) -> T:
        with self._lock:
            self._values[name] = value
            self._values.move_to_end(name)
            if len(self._values) > self._limit:
                self._values.popitem(last=False)
        return value


class Unpacker:
    """Unpacks skills and tasks on a node. Each object is fetched once and kept; files lie in `folder` by digest.

    `fetched` counts how often each digest was fetched.
    """

    def __init__(self, folder: Path, fetch: Fetch) -> None:
        self._folder = folder
        self._fetch = fetch
        self._skills: dict[str, Rendering] = {}
        self._tasks: dict[str, Task] = {}
        self._files: dict[str, Path] = {}
        self._locks: dict[str, anyio.Lock] = {}
        self.fetched: Counter[str] = Counter()

    async def skill(self, packed: Packed[PackedSkill]) -> Rendering:
        """The rendering as the driver had it."""
        rendering = await self._once(self._skills, packed.content, lambda: self._unpack_skill(packed))
        while len(self._skills) > NODE_SKILLS:
            del self._skills[next(iter(self._skills))]
        return rendering

    async def task(self, packed: Packed[PackedTask]) -> Task:
        """The task, with the paths of its files on this node."""
        return await self._once(self._tasks, packed.content, lambda: self._unpack_task(packed))

    async def _once(self, known: dict[str, T], stored: StoredObject, unpack: Callable[[], Awaitable[T]]) -> T:
        """The known value for this digest, else a new one; concurrent calls wait for the same value."""
        value = known.get(stored.digest)
        if value is None:
            async with self._locks.setdefault(stored.digest, anyio.Lock()):
                value = known.get(stored.digest)
                if value is None:
                    value = known[stored.digest] = await unpack()
            self._locks.pop(stored.digest, None)
        return value

    async def _unpack_skill(self, packed: Packed[PackedSkill]) -> Rendering:
        content: PackedSkill = await self._get(packed.content)
        await self._unpack_files(packed.files)
        files = [self._restore_file(file, content) for file in content.rendering.files]
        return replace(content.rendering, files=tuple(files))

    def _restore_file(self, file: RenderedFile, content: PackedSkill) -> RenderedFile:
        if file.data is not None or file.origin is None:
            return file
        path = self._files[file.origin.name]
        if file.path in content.in_memory:
            return replace(file, data=path.read_bytes(), origin=None)
        return replace(file, origin=path)

    async def _unpack_task(self, packed: Packed[PackedTask]) -> Task:
        content: PackedTask = await self._get(packed.content)
        await self._unpack_files(packed.files)
        return replace(content.task, files={name: self._files[digest] for name, digest in content.files.items()})

    async def _unpack_files(self, stored: tuple[StoredObject, ...]) -> None:
        for item in stored:
            await self._once(self._files, item, lambda item=item: self._unpack_file(item))  # type: ignore[misc]

    async def _unpack_file(self, stored: StoredObject) -> Path:
        content: PackedFile = await self._get(stored)
        path = self._folder / stored.digest
        await anyio.to_thread.run_sync(_write, path, content)
        return path

    async def _get(self, stored: StoredObject) -> Any:
        if stored.ref is None and stored.value is None:
            raise ForgottenObject(stored.digest)
        self.fetched[stored.digest] += 1
        return stored.value if stored.ref is None else await self._fetch(stored.ref)


def _write(path: Path, content: PackedFile) -> None:
    path.write_bytes(content.data)
    path.chmod(0o755 if content.executable else 0o644)
