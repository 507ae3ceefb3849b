"""Working folders that a killed process left behind: the next process removes them.

Each process names its folders `skillsv-TOKEN-...` and holds a lock on the file `skillsv-TOKEN.lock` beside them. The
lock ends with the process, however it ends. A folder is removed only where its lock could be taken: also processes of
another container that share the temporary folder keep theirs.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import os
import re
import secrets
import tempfile
from pathlib import Path

from skillsv.sandbox.folders import remove_folder

_LOCK_NAME = re.compile(r"skillsv-([0-9a-f]{12})\.lock")
"""The name of a lock file."""


def folder_prefix() -> str:
    """The beginning of the names of this process's folders. The first call takes the lock."""
    return f"skillsv-{_take_token(os.getpid())}-"


def remove_leftovers(parent: Path | None = None) -> int:
    """Remove the folders of processes that have ended, in the temporary folder; how many there were."""
    place = parent or Path(tempfile.gettempdir())
    removed = 0
    for lock in _list(place):
        found = _LOCK_NAME.fullmatch(lock.name)
        if found is None or lock.is_symlink():
            continue
        with contextlib.suppress(OSError):
            removed += _remove_if_free(lock, found.group(1))
    return removed


@functools.cache
def _take_token(process: int) -> str:
    """A token of this process, with its lock. The file stays open until the process ends."""
    token = secrets.token_hex(6)
    path = Path(tempfile.gettempdir()) / f"skillsv-{token}.lock"
    with contextlib.suppress(OSError):  # without a lock nobody removes the folders of this process
        number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        atexit.register(_drop_lock, process, path)
    return token


def _drop_lock(process: int, path: Path) -> None:
    if process == os.getpid():  # a forked child has inherited this function
        path.unlink(missing_ok=True)


def _remove_if_free(lock: Path, token: str) -> int:
    """Remove the folders of a token whose process has ended. Files of other users cannot be opened."""
    number = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if os.fstat(number).st_uid != os.geteuid():
            return 0
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folders = [path for path in _list(lock.parent) if path.name.startswith(f"skillsv-{token}-")]
        removed = [remove_folder(folder) for folder in folders if not folder.is_symlink()]
        if all(removed):
            lock.unlink()
        return len(removed)
    finally:
        os.close(number)


def _list(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if entry.name.startswith("skillsv-")]
    except OSError:
        return []
