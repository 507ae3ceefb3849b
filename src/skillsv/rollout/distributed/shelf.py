"""What has arrived on a node: each rendered skill, task and file is fetched once and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from skillsv.model.coalition import RenderedFile, Rendering
from skillsv.model.task import Task
from skillsv.rollout.distributed.parcels import Packed, PackedFile, PackedSkill, PackedTask, Parcel

SKILLS = 256
"""Renderings kept in a node's memory; one that is asked for after that many others is fetched again."""

T = TypeVar("T")
Fetch = Callable[[Any], Awaitable[Any]]


class Shelf:
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

    async def _once(self, known: dict[str, T], parcel: Parcel, make: Callable[[], Awaitable[T]]) -> T:
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

    async def _place(self, parcels: tuple[Parcel, ...]) -> None:
        for parcel in parcels:
            await self._once(self._files, parcel, lambda parcel=parcel: self._file(parcel))  # type: ignore[misc]

    async def _file(self, parcel: Parcel) -> Path:
        content: PackedFile = await self._get(parcel)
        place = self._folder / parcel.digest
        await anyio.to_thread.run_sync(_write, place, content)
        return place

    async def _get(self, parcel: Parcel) -> Any:
        self.fetched[parcel.digest] += 1
        return await self._fetch(parcel.ref)


def _write(place: Path, content: PackedFile) -> None:
    place.write_bytes(content.data)
    place.chmod(0o755 if content.executable else 0o644)
