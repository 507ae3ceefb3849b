"""Empty folders kept for the next rollout: on a busy disk, making and removing one costs milliseconds each."""

from __future__ import annotations

import atexit
import contextlib
import os
from pathlib import Path

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
