"""Workspaces, the private folders of rollouts, and the files of a rendering written to a folder."""

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
from skillsv.sandbox.folders import remove_folder
from skillsv.sandbox.left_folders import folder_prefix
from skillsv.sandbox.links import remove_outside_links

DEFAULT_SKILL_DIR = ".skillsv/skills"
"""Folder in the workspace for the skill, unless a setting (`--skill-dir .claude/skills`) names another one."""

OWN_FOLDERS = (".home", ".tmp", ".skillsv")
"""Folders in the workspace that SkillSV makes: the home and the temporary folder of the agent, the skill."""

_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
"""Error numbers for a full disk, an exceeded quota and a read-only file system."""

_POOL: dict[tuple[int, Path], list[Path]] = {}
"""The workspace pool: empty folders that later rollouts use again, because on a busy disk it takes milliseconds to make
and to remove a folder. The key is the process (a forked child must not use folders of its parent) and the folder in
which they are."""


_IN_USE: set[Path] = set()
"""The workspaces of this process that are in use."""


class fresh_workspace:  # noqa: N801 - reads as a verb: `with fresh_workspace(task) as folder`
    """A private folder with the task's files. It is removed at the end, also after an error or a cancellation.

        async with fresh_workspace(task) as folder:
            outcome = await agent.run(skill, task, replicate, folder)

    It is made in `parent`. If that is None, it is made in the system's temporary folder, and goes to the workspace pool
    if the rollout left it empty. It works with `with` and with `async with`, which copies and removes files in a
    thread.
    """

    def __init__(self, task: Task, *, parent: Path | None = None) -> None:
        self._task = task
        self._parent = parent
        self._folder: Path | None = None

    def __enter__(self) -> Path:
        folder = self._make()
        try:
            self._copy_files(folder)
        except BaseException:
            self._remove()
            raise
        return folder

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._return_to_pool(error):
            self._remove()

    async def __aenter__(self) -> Path:
        folder = self._make()
        if self._task.files:
            try:
                await anyio.to_thread.run_sync(self._copy_files, folder)
            except BaseException:
                await self._remove_in_thread()
                raise
        return folder

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._return_to_pool(error):
            await self._remove_in_thread()

    def _make(self) -> Path:
        parent = _resolve(self._parent or Path(tempfile.gettempdir()))
        pooled = take_from_pool(parent) if self._parent is None else None
        with convert_disk_errors(parent):
            self._folder = pooled or Path(tempfile.mkdtemp(prefix=folder_prefix(), dir=parent))
        _IN_USE.add(self._folder)
        return self._folder

    def _return_to_pool(self, error: BaseException | None) -> bool:
        """Whether the folder went to the pool. Not after an error: a function that timed out may still write to it."""
        if self._folder is None:
            return False
        _IN_USE.discard(self._folder)
        return error is None and self._parent is None and return_to_pool(self._folder)

    def _copy_files(self, folder: Path) -> None:
        with convert_disk_errors(folder):
            for name, origin in self._task.files.items():
                if is_own_folder(name):
                    raise RolloutError(f"The path {name!r} belongs to SkillSV.", kind=FailureKind.SANDBOX)
                path = folder / check_relative_path(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(origin, path)
                path.chmod(0o755 if origin.stat().st_mode & 0o111 else 0o644)  # the agent may edit its copy

    async def _remove_in_thread(self) -> None:
        """Remove the folder in a thread, also after a cancellation."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._remove)

    def _remove(self) -> None:
        if self._folder is not None:
            _IN_USE.discard(self._folder)
            remove_folder(self._folder)


async def remove_agent_links(workspace: Path) -> None:
    """Remove links that lead out of a workspace, before a verifier reads it.

    Only `fresh_workspace` makes workspaces: in any other folder the links are the user's own, and nothing is removed.
    """
    if workspace in _IN_USE and not _is_unused(workspace):
        await anyio.to_thread.run_sync(remove_outside_links, workspace)


def take_from_pool(parent: Path) -> Path | None:
    """An empty folder in `parent` that an earlier rollout left; None if there is none."""
    folders = _POOL.get((os.getpid(), parent), [])
    while folders:
        folder = folders.pop()
        if _is_unused(folder):
            return folder
    return None


def return_to_pool(folder: Path) -> bool:
    """Put the folder into the pool if it is empty. Returns whether it is there now."""
    if not _is_unused(folder):
        return False
    _POOL.setdefault((os.getpid(), folder.parent), []).append(folder)
    return True


@atexit.register
def remove_pool() -> None:
    """Remove all folders in the pool of this process."""
    for (process, _), folders in _POOL.items():
        while process == os.getpid() and folders:
            with contextlib.suppress(OSError):
                folders.pop().rmdir()


LONGEST_NAME = 64
"""Characters of a skill's folder name in a workspace: the longest name that the skill format allows."""


def place_skill(rendering: Rendering, workspace: Path, skill_dir: str | None) -> Path:
    """Write the skill to `workspace/SKILL_DIR/NAME` and return that folder. The bare agent has no skill."""
    folder = (
        workspace
        / check_relative_path(skill_dir or DEFAULT_SKILL_DIR)
        / folder_name(rendering.skill_name)[:LONGEST_NAME]
    )
    write_tree(rendering, folder)
    return folder


def folder_name(name: str) -> str:
    """The name of a skill as one safe folder name: characters other than letters, digits, `_`, `.`, `-` become `-`.

    The name of the default run folder is made here: another rule would not find the runs of earlier versions.
    """
    return re.sub(r"[^\w.-]", "-", name).strip(".") or "skill"


def write_tree(rendering: Rendering, folder: Path) -> None:
    """Write all files of a rendering below `folder`: the same bytes, the same executable bits, nothing outside it.

    Raises RolloutError: kind `disk` for a full or read-only disk, kind `sandbox` for a path that leaves the folder.
    """
    with convert_disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        made = {folder}
        for file in rendering.files:
            path = folder / check_relative_path(file.path)
            if path.parent not in made:
                path.parent.mkdir(parents=True, exist_ok=True)
                made.add(path.parent)
            _write_file(file, path)


def check_relative_path(path: str) -> PurePosixPath:
    """The relative path. Raises RolloutError (kind `sandbox`) if it leaves the folder below which it is used."""
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or pure == PurePosixPath() or "\0" in path:
        raise RolloutError(f"The path {path!r} leaves the folder it belongs to.", kind=FailureKind.SANDBOX)
    return pure


def is_own_folder(path: str) -> bool:
    """Whether a relative path is in a folder of `OWN_FOLDERS`, where a file of a task could act as the agent's own."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0].casefold() in OWN_FOLDERS  # some file systems ignore case


@contextlib.contextmanager
def convert_disk_errors(folder: Path) -> Iterator[None]:
    """Convert an OSError into a RolloutError: kind `disk` for a full or read-only disk, else kind `sandbox`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise RolloutError(f"Cannot write {folder}: {error.strerror}.", kind=FailureKind.SANDBOX) from error
        raise RolloutError(f"No room to write {folder}: {error.strerror}.", kind=FailureKind.DISK) from error


def _write_file(file: RenderedFile, path: Path) -> None:
    if file.data is not None:
        path.write_bytes(file.data)
    elif file.origin is not None:
        shutil.copyfile(file.origin, path)
    else:
        raise RolloutError(f"The rendered file {file.path} has neither bytes nor an origin.", kind=FailureKind.SANDBOX)
    if file.executable:
        path.chmod(path.stat().st_mode | 0o111)


def _is_unused(folder: Path) -> bool:
    """Whether the folder is as it was made: private and empty."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None and folder.stat().st_mode & 0o7777 == 0o700
    except OSError:
        return False


@functools.lru_cache(maxsize=16)
def _resolve(folder: Path) -> Path:
    """The folder without symlinks: a program's `getcwd` then agrees with the paths in its environment."""
    return folder.resolve()
