"""Names the temporary folders of this process, and removes those that a killed process left.

A process holds a lock on the file `skillsv-TOKEN.lock` in the temporary folder as long as it lives. The names of its
folders begin with `skillsv-TOKEN-`. Where nobody holds the lock, the process has ended: its folders are left over.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import secrets
import stat
import tempfile
from pathlib import Path

from skillsv.sandbox.folders import remove_folder

_NOBODY = 65534
"""The user whose folders root makes: programs in the sandbox run as nobody."""

_LOCK = re.compile(r"skillsv-([0-9a-f]{12})\.lock")
"""The name of a lock file."""

_held: dict[int, tuple[str, Path, int]] = {}
"""By process: its token, its lock file and the number of the open file. A forked child has its own."""


def folder_prefix() -> str:
    """The beginning of the names of this process's temporary folders."""
    process = os.getpid()
    if process not in _held:
        _held[process] = _take_lock(Path(tempfile.gettempdir()))
    return f"skillsv-{_held[process][0]}-"


def remove_left_folders(parent: Path | None = None) -> int:
    """Remove the folders of processes that have ended, and return how many there were. Folders in use are kept."""
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    own = {path for _, path, _ in _held.values()}
    removed = 0
    for name in os.listdir(parent):  # noqa: PTH208 - names are enough
        found = _LOCK.fullmatch(name)
        if found is not None and parent / name not in own:
            removed += _remove_folders_of(found.group(1), parent / name)
    return removed


def _remove_folders_of(token: str, lock: Path) -> int:
    number = _open_own(lock)
    if number is None:
        return 0
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folders = [path for path in lock.parent.glob(f"skillsv-{token}-*") if _is_own_folder(path)]
        for folder in folders:
            remove_folder(folder)
        lock.unlink(missing_ok=True)
        return len(folders)
    except OSError:  # the process lives
        return 0
    finally:
        os.close(number)


def _take_lock(parent: Path) -> tuple[str, Path, int]:
    """A new token and its lock. Another process may take the new file for a left one: then there is a next."""
    while True:
        token = secrets.token_hex(6)
        path = parent / f"skillsv-{token}.lock"
        number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(number), path.stat()):
                return token, path, number
        os.close(number)


def _open_own(path: Path) -> int | None:
    """The open lock file; None if it is a link, no file, or the file of another user."""
    with contextlib.suppress(OSError):
        number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        status = os.fstat(number)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            return number
        os.close(number)
    return None


def _is_own_folder(path: Path) -> bool:
    owners = {os.geteuid(), _NOBODY} if os.geteuid() == 0 else {os.geteuid()}
    with contextlib.suppress(OSError):
        status = path.lstat()
        return stat.S_ISDIR(status.st_mode) and status.st_uid in owners
    return False


@atexit.register
def _release() -> None:
    """Remove the lock file of this process."""
    held = _held.pop(os.getpid(), None)
    if held is not None:
        held[1].unlink(missing_ok=True)
        os.close(held[2])
