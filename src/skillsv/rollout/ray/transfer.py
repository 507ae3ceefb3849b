"""What a rollout needs on a node, packed so that each rendered skill and each file travels there once, by digest."""

from __future__ import annotations

import hashlib
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
"""A file of a rendering up to this size travels with it; a larger one on its own, once for all renderings."""

KEPT = 1024
"""Packed skills, tasks and files that the driver remembers, each."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedObject:
    """Something in the cluster's object store, by the digest of what it is. `ref` fetches it."""

    digest: str
    ref: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Generic[T]):
    """A parcel that holds a `T` without its files, and the parcels of these."""

    parcel: PackedObject
    files: tuple[PackedObject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedSkill:
    """A rendering whose large files are left out. `in_memory` are the paths of those that it holds in memory."""

    rendering: Rendering
    in_memory: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFile:
    """The bytes of one file."""

    data: bytes
    executable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTask:
    """A task without places: `files` maps the path in the working folder to the digest of its parcel."""

    task: Task
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One job as it is sent to a node."""

    key: RolloutKey
    timeout: float | None
    skill: Packed[PackedSkill]
    task: Packed[PackedTask]
    score_cut: bool = False


class Packer:
    """Packs jobs. What was packed lately is not packed again; what was not is let go, and packed anew if need be."""

    def __init__(self, put: Callable[[Any], Any], kept: int = KEPT) -> None:
        self._put = put
        self._skills: _Lately[Packed[PackedSkill]] = _Lately(kept)
        self._tasks: _Lately[Packed[PackedTask]] = _Lately(kept)
        self._files: _Lately[PackedObject] = _Lately(kept)
        self._turn = anyio.Lock()

    async def order(self, job: Job) -> Order:
        """The job, packed. Files are read in a thread."""
        skill, task = self._skills.get(job.key.tree), self._tasks.get(job.key.task)
        if skill is not None and task is not None:
            return Order(key=job.key, timeout=job.timeout, skill=skill, task=task, score_cut=job.score_cut)
        async with self._turn:
            return await anyio.to_thread.run_sync(self._packed, job)

    def _packed(self, job: Job) -> Order:
        tree, task = job.key.tree, job.key.task
        return Order(
            key=job.key,
            timeout=job.timeout,
            skill=self._skills.get(tree) or self._skills.add(tree, self._skill(job.skill)),
            task=self._tasks.get(task) or self._tasks.add(task, self._task(job.task)),
            score_cut=job.score_cut,
        )

    def _skill(self, rendering: Rendering) -> Packed[PackedSkill]:
        apart = [file for file in rendering.files if file.data is None or len(file.data) > INLINE_BYTES]
        parcels = tuple(self._file(_bytes(file), executable=file.executable) for file in apart)
        places = {file.path: Path(parcel.digest) for file, parcel in zip(apart, parcels, strict=True)}
        light = tuple(
            replace(file, data=None, origin=places[file.path]) if file.path in places else file
            for file in rendering.files
        )
        held = frozenset(file.path for file in apart if file.data is not None)
        packed = PackedSkill(rendering=replace(rendering, files=light), in_memory=held)
        return Packed(parcel=PackedObject(digest=rendering.digest, ref=self._put(packed)), files=parcels)

    def _task(self, task: Task) -> Packed[PackedTask]:
        parcels = {
            name: self._file(origin.read_bytes(), executable=bool(origin.stat().st_mode & 0o111))
            for name, origin in task.files.items()
        }
        packed = PackedTask(
            task=replace(task, files={}), files={name: parcel.digest for name, parcel in parcels.items()}
        )
        return Packed(parcel=PackedObject(digest=task.digest, ref=self._put(packed)), files=tuple(parcels.values()))

    def _file(self, data: bytes, *, executable: bool) -> PackedObject:
        digest = f"{hashlib.sha256(data).hexdigest()}{'-x' if executable else ''}"
        known = self._files.get(digest)
        return known or self._files.add(
            digest, PackedObject(digest=digest, ref=self._put(PackedFile(data=data, executable=executable)))
        )


def _bytes(file: RenderedFile) -> bytes:
    if file.data is not None:
        return file.data
    assert file.origin is not None, "a rendered file has bytes or an origin"
    return file.origin.read_bytes()


class _Lately(Generic[T]):
    """The most recently used values, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[str, T] = OrderedDict()

    def get(self, name: str) -> T | None:
        if name in self._values:
            self._values.move_to_end(name)
        return self._values.get(name)

    def add(self, name: str, value: T) -> T:
        self._values[name] = value
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return value


# What has arrived on a node: each rendered skill, task and file is fetched once and kept.

SKILLS = 256
"""Renderings kept in a node's memory; one that is asked for after that many others is fetched again."""

Fetch = Callable[[Any], Awaitable[Any]]


class NodeCache:
    """Unpacks parcels. Files lie in `folder` under their digests; `fetched` counts how often each digest travelled."""

    def __init__(self, folder: Path, fetch: Fetch) -> None:
        self._folder = folder
        self._fetch = fetch
        self._skills: dict[str, Rendering] = {}
        self._tasks: dict[str, Task] = {}
        self._files: dict[str, Path] = {}
        self._turns: dict[str, anyio.Lock] = {}
        self.fetched: Counter[str] = Counter()

    async def skill(self, packed: Packed[PackedSkill]) -> Rendering:
        """The rendering, as it was packed."""
        found = await self._once(self._skills, packed.parcel, lambda: self._rendering(packed))
        while len(self._skills) > SKILLS:
            del self._skills[next(iter(self._skills))]
        return found

    async def task(self, packed: Packed[PackedTask]) -> Task:
        """The task; its files lie on this node."""
        return await self._once(self._tasks, packed.parcel, lambda: self._task(packed))

    async def _once(self, known: dict[str, T], parcel: PackedObject, make: Callable[[], Awaitable[T]]) -> T:
        """What is known by this digest, else made now; who asks meanwhile waits for the same."""
        found = known.get(parcel.digest)
        if found is None:
            async with self._turns.setdefault(parcel.digest, anyio.Lock()):
                found = known.get(parcel.digest)
                if found is None:
                    found = known[parcel.digest] = await make()
            self._turns.pop(parcel.digest, None)
        return found

    async def _rendering(self, packed: Packed[PackedSkill]) -> Rendering:
        content: PackedSkill = await self._get(packed.parcel)
        await self._place(packed.files)
        files = [self._whole(file, content) for file in content.rendering.files]
        return replace(content.rendering, files=tuple(files))

    def _whole(self, file: RenderedFile, content: PackedSkill) -> RenderedFile:
        if file.data is not None or file.origin is None:
            return file
        place = self._files[file.origin.name]
        if file.path in content.in_memory:
            return replace(file, data=place.read_bytes(), origin=None)
        return replace(file, origin=place)

    async def _task(self, packed: Packed[PackedTask]) -> Task:
        content: PackedTask = await self._get(packed.parcel)
        await self._place(packed.files)
        return replace(content.task, files={name: self._files[digest] for name, digest in content.files.items()})

    async def _place(self, parcels: tuple[PackedObject, ...]) -> None:
        for parcel in parcels:
            await self._once(self._files, parcel, lambda parcel=parcel: self._file(parcel))  # type: ignore[misc]

    async def _file(self, parcel: PackedObject) -> Path:
        content: PackedFile = await self._get(parcel)
        place = self._folder / parcel.digest
        await anyio.to_thread.run_sync(_write, place, content)
        return place

    async def _get(self, parcel: PackedObject) -> Any:
        self.fetched[parcel.digest] += 1
        return await self._fetch(parcel.ref)


def _write(place: Path, content: PackedFile) -> None:
    place.write_bytes(content.data)
    place.chmod(0o755 if content.executable else 0o644)
