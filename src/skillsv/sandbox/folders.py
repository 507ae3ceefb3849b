"""Folders that a program or a stranger wrote: listed and removed without recursion, however deep they are."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened: a link in its place is refused."""


def walk_files(root: Path) -> Iterator[Path]:
    """Everything below `root` but folders, in the order of `walk`."""
    return (path for path in walk(root) if path.is_symlink() or not path.is_dir())


def walk(root: Path) -> Iterator[Path]:
    """Everything below `root`: the files of a folder, sorted, its subfolders, what is in them. No link is followed.

    A folder that cannot be listed, for example because its path is too long for the system, is left out.
    """
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        below = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
        yield from (Path(entry.path) for entry in entries if not entry.is_dir(follow_symlinks=False))
        yield from below
        pending += reversed(below)


def remove_folder(folder: Path) -> bool:
    """Remove the folder with all that is in it; whether nothing is left. Never raises OSError.

    Subfolders are moved up to `folder` before their turn, so that neither the stack nor the length of a path limits
    the depth, and one open folder at a time suffices. Permissions that a program took away are given back.
    """
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        root = os.open(folder, _OPEN_FOLDER)
        try:
            _empty(root)
        finally:
            os.close(root)
        folder.rmdir()
    return not os.path.lexists(folder)


def _empty(root: int) -> None:
    """Remove everything in the open folder `root`."""
    number, prefix = 0, secrets.token_hex(8)  # a name that no program can have taken
    pending = _remove_files(root)
    while pending:
        name = pending.pop()
        with contextlib.suppress(OSError):
            os.chmod(name, 0o700, dir_fd=root)
            folder = os.open(name, _OPEN_FOLDER, dir_fd=root)
            try:
                for below in _remove_files(folder):
                    os.chmod(below, 0o700, dir_fd=folder)
                    number += 1
                    moved = f"{prefix}-{number}"
                    os.rename(below, moved, src_dir_fd=folder, dst_dir_fd=root)
                    pending.append(moved)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=root)


def _remove_files(folder: int) -> list[str]:
    """Remove everything in an open folder but its subfolders, and return their names."""
    with os.scandir(folder) as listing:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_folder in entries:
        if not is_folder:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in entries if is_folder]
