"""A private folder per rollout, and a rendered skill written into a folder."""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import TracebackType

import anyio.to_thread

from skillsv.errors import RolloutError
from skillsv.model.coalition import RenderedFile, Rendering
from skillsv.model.rollout import FailureKind
from skillsv.model.task import Task

# Empty folders kept for the next rollout: on a busy disk, making and removing one costs milliseconds each.

_SPARES: dict[tuple[int, Path], list[Path]] = {}
"""By process (a forked child must not share its parent's folders) and by the folder they lie in."""


def take_spare(parent: Path) -> Path | None:
    """A folder that an earlier rollout left empty, if there is one and it is empty still."""
    spares = _SPARES.get((os.getpid(), parent), [])
    while spares:
        folder = spares.pop()
        if is_untouched(folder):
            return folder
    return None


def keep_spare(folder: Path) -> bool:
    """Keep the folder for a later rollout if this one left nothing in it; says whether it did."""
    if not is_untouched(folder):
        return False
    _SPARES.setdefault((os.getpid(), folder.parent), []).append(folder)
    return True


def is_untouched(folder: Path) -> bool:
    """Whether the folder is as it was made: private and empty."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None and folder.stat().st_mode & 0o7777 == 0o700
    except OSError:
        return False


@atexit.register
def remove_spares() -> None:
    """Remove the spare folders of this process."""
    for (process, _), spares in _SPARES.items():
        while process == os.getpid() and spares:
            with contextlib.suppress(OSError):
                spares.pop().rmdir()


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


def write_tree(rendering: Rendering, folder: Path) -> None:
    """Write every file of a rendered skill below `folder`: same bytes, same run bits, nothing outside it.

    Raises RolloutError (kind `disk`) where the disk is full or read-only, (kind `sandbox`) for a path that leaves.
    """
    with disk_trouble(folder):
        folder.mkdir(parents=True, exist_ok=True)
        made = {folder}
        for file in rendering.files:
            place = folder / inside(file.path)
            if place.parent not in made:
                place.parent.mkdir(parents=True, exist_ok=True)
                made.add(place.parent)
            _write_file(file, place)


def _write_file(file: RenderedFile, place: Path) -> None:
    if file.data is not None:
        place.write_bytes(file.data)
    elif file.origin is not None:
        shutil.copyfile(file.origin, place)
    else:
        raise RolloutError(f"The rendered file {file.path} has neither bytes nor an origin.", kind=FailureKind.SANDBOX)
    if file.executable:
        place.chmod(place.stat().st_mode | 0o111)


def inside(path: str) -> PurePosixPath:
    """The path, refused where it would leave the folder it is written below."""
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or pure == PurePosixPath() or "\0" in path:
        raise RolloutError(f"The path {path!r} leaves the folder it belongs to.", kind=FailureKind.SANDBOX)
    return pure


@contextlib.contextmanager
def disk_trouble(folder: Path) -> Iterator[None]:
    """Turn a full or read-only disk into a failure of the infrastructure that says so."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise RolloutError(f"Cannot write {folder}: {error.strerror}.", kind=FailureKind.SANDBOX) from error
        raise RolloutError(f"No room to write {folder}: {error.strerror}.", kind=FailureKind.DISK) from error


class fresh_workspace:  # noqa: N801 - reads as a verb: `with fresh_workspace(task) as folder`
    """A new private folder with the task's files, removed whatever happens. Works with `with` and `async with`.

        async with fresh_workspace(task) as folder:
            outcome = await agent.run(skill, task, replicate, folder)

    `parent` is where it is made. If None, it is made in the system's temporary folder, and one that a rollout left
    empty serves the next. The `async` form copies and removes in a thread.
    """

    def __init__(self, task: Task, *, parent: Path | None = None) -> None:
        self._task = task
        self._parent = parent
        self._folder: Path | None = None

    def __enter__(self) -> Path:
        folder = self._make()
        try:
            self._fill(folder)
        except BaseException:
            self._remove()
            raise
        return folder

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if not self._kept(kind):
            self._remove()

    async def __aenter__(self) -> Path:
        folder = self._make()
        if self._task.files:
            try:
                await anyio.to_thread.run_sync(self._fill, folder)
            except BaseException:
                await self._remove_aside()
                raise
        return folder

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if not self._kept(kind):
            await self._remove_aside()

    def _make(self) -> Path:
        parent = _resolved(self._parent or Path(tempfile.gettempdir()))
        spare = take_spare(parent) if self._parent is None else None
        with disk_trouble(parent):
            self._folder = spare or Path(tempfile.mkdtemp(prefix="skillsv-", dir=parent))
        return self._folder

    def _kept(self, trouble: type[BaseException] | None) -> bool:
        """Whether it was kept for the next; never after trouble, when a function left to itself may still write."""
        return trouble is None and self._parent is None and self._folder is not None and keep_spare(self._folder)

    def _fill(self, folder: Path) -> None:
        with disk_trouble(folder):
            for name, origin in self._task.files.items():
                place = folder / inside(name)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(origin, place)
                place.chmod(0o755 if origin.stat().st_mode & 0o111 else 0o644)  # the agent may edit its copy

    async def _remove_aside(self) -> None:
        """Remove the folder in a thread; never skipped by a cancellation."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._remove)

    def _remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, onerror=_make_removable)


@functools.lru_cache(maxsize=16)
def _resolved(folder: Path) -> Path:
    """The folder without symlinks, so that a program finds itself where its environment says it is."""
    return folder.resolve()


def _make_removable(_function: object, path: str, _error: object) -> None:
    """A program may leave folders without permissions behind: open them and try once more, else let them be."""
    with contextlib.suppress(OSError):
        Path(path).parent.chmod(0o700)
        Path(path).chmod(0o700)
        shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()


# Where a rendered skill lies in a rollout's working folder.

DEFAULT_SKILL_DIR = ".skillsv/skills"
"""Where the skill lies unless a setting (`--skill-dir .claude/skills`) puts it where a coding agent looks."""


def place_skill(rendering: Rendering, workspace: Path, skill_dir: str | None) -> Path:
    """Write the skill to `workspace/SKILL_DIR/NAME` and return that folder. Never called for the bare agent."""
    folder = workspace / inside(skill_dir or DEFAULT_SKILL_DIR) / folder_name(rendering.skill_name)
    write_tree(rendering, folder)
    return folder


def folder_name(skill_name: str) -> str:
    """The skill's name as one safe folder name; the name comes from a file nobody vouches for."""
    safe = re.sub(r"[^\w.-]+", "-", skill_name).strip(".-")[:64]
    return safe or "skill"
