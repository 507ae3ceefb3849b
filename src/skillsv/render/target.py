"""A folder that appears whole or not at all, and never over something it should not replace."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillsv.errors import OutputError


@contextmanager
def new_folder(target: Path, *, skill: Path, force: bool = False) -> Iterator[Path]:
    """Yields a folder to write into; it becomes `target` when the block ends well, else nothing is left of it.

    `skill` is where the skill was read from: nothing is written into it, and nothing that holds it is replaced.
    """
    _check(target, skill, force=force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as beside:
            fresh = Path(beside, "new")
            fresh.mkdir()
            yield fresh
            if _exists(target):
                target.rename(Path(beside, "old"))  # goes away with the temporary folder
            shutil.move(fresh, target)
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise OutputError(f"{reason}.", where=str(target), hint="Choose another folder with -o.") from trouble


def _check(target: Path, skill: Path, *, force: bool) -> None:
    place, source = target.resolve(), skill.resolve()
    if place.is_relative_to(source) and not source.is_file():
        raise OutputError("This is inside the skill.", where=str(target), hint="Choose a folder outside it with -o.")
    if source.is_relative_to(place):
        raise OutputError("This holds the skill itself.", where=str(target), hint="Choose another folder with -o.")
    ground = next(above for above in place.parents if above.exists())
    if not ground.is_dir():
        raise OutputError(
            f"{ground} is a file, not a folder.", where=str(target), hint="Choose another folder with -o."
        )
    if not _exists(target):
        return
    if not force:
        raise OutputError(
            "This exists already; it was left as it is.", where=str(target), hint="Replace it with --force."
        )
    if not target.is_dir() or target.is_symlink():
        raise OutputError("This is not a folder.", where=str(target), hint="Remove it first.")
    if any(home.is_relative_to(place) for home in (Path.cwd(), Path.home())):
        # --force replaces an earlier result, not somebody's home.
        raise OutputError("You are working in there.", where=str(target), hint="Choose another folder with -o.")


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()
