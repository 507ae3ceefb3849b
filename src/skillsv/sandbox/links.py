"""Removes from a folder what leads a reader out of it or makes it wait: links to other places, pipes, devices."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path


def remove_outside_links(folder: Path) -> list[str]:
    """Remove the symbolic links below `folder` that do not lead to a place below it, and everything that is neither a
    file, a folder nor a link.

    An untrusted program wrote the folder, and a program with the rights of the user is about to read it. Links in a
    circle are removed, too. Returns the relative paths of what was removed, sorted. Entries that cannot be reached by
    their path (no permission, path too long) are left alone: a reader does not reach them either.
    """
    root = folder.resolve()
    outside = [Path(entry.path) for entry in _entries(root) if _leads_outside(entry, root)]
    for path in outside:
        with contextlib.suppress(OSError):
            path.unlink()
    return sorted(str(path.relative_to(root)) for path in outside)


def _entries(root: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder; links are not followed. Without recursion: the tree may be deep."""
    todo = [str(root)]
    while todo:
        try:
            with os.scandir(todo.pop()) as found:
                entries = list(found)
        except OSError:
            continue
        yield from entries
        todo += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def _leads_outside(entry: os.DirEntry[str], root: Path) -> bool:
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
        if not stat.S_ISLNK(mode):
            return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
        return not Path(entry.path).resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle
        return entry.is_symlink()
