"""What a rollout needs on a node, packed so that each rendered skill and each file travels there once, by digest."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
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
class Parcel:
    """Something in the cluster's object store, by the digest of what it is. `ref` fetches it."""

    digest: str
    ref: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Generic[T]):
    """A parcel that holds a `T` without its files, and the parcels of these."""

    parcel: Parcel
    files: tuple[Parcel, ...]


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
        self._files: _Lately[Parcel] = _Lately(kept)
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
        return Packed(parcel=Parcel(digest=rendering.digest, ref=self._put(packed)), files=parcels)

    def _task(self, task: Task) -> Packed[PackedTask]:
        parcels = {
            name: self._file(origin.read_bytes(), executable=bool(origin.stat().st_mode & 0o111))
            for name, origin in task.files.items()
        }
        packed = PackedTask(
            task=replace(task, files={}), files={name: parcel.digest for name, parcel in parcels.items()}
        )
        return Packed(parcel=Parcel(digest=task.digest, ref=self._put(packed)), files=tuple(parcels.values()))

    def _file(self, data: bytes, *, executable: bool) -> Parcel:
        digest = f"{hashlib.sha256(data).hexdigest()}{'-x' if executable else ''}"
        known = self._files.get(digest)
        return known or self._files.add(
            digest, Parcel(digest=digest, ref=self._put(PackedFile(data=data, executable=executable)))
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
