"""Writes output folders and patches: complete or not at all, and never over files of the user."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from skillsv.errors import OutputError
from skillsv.model.coalition import RenderedFile
from skillsv.rendering.document import tree_digest
from skillsv.sandbox.run_files import holds_run

MARK = ".skillsv-output"
"""The file that marks a folder as written by SkillSV. Its name is hidden, so it is no part of the skill."""

_MARK_TEXT = "Written by skillsv. Its --force replaces this folder as long as nothing in it has changed.\n"
"""The first line of the mark; the digest of the folder follows."""

_PATCH_MARK = b"Written by skillsv.\n"
"""The first line of a patch. Programs that apply patches skip all lines before the first file."""

_OTHER_FOLDER = "Choose another folder with -o."
"""The hint of most errors."""

_UNMARKED = "This exists already and was not written by skillsv; it was left as it is."
"""The error for a folder or patch without a mark."""


@contextmanager
def new_folder(target: Path, *, skill: Path | None, force: bool = False) -> Iterator[Path]:
    """Yields a folder to write into. It becomes `target` when the block ends; after an exception it is removed.

    `skill` is the folder of the original skill, if it has one: nothing is written into it, and no folder around it is
    replaced.
    `force` replaces an empty folder, or a folder that this function wrote and that has not changed since.
    """
    try:
        _check_target(target, skill, force=force)
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as beside:
            fresh = Path(beside, "new")
            fresh.mkdir()
            yield fresh
            if any(fresh.iterdir()):  # an empty folder is the rendering of the bare agent, and needs no mark
                (fresh / MARK).write_bytes(_mark_text(fresh))
            _check_target(target, skill, force=force)  # writing may have taken minutes
            if target.exists():
                target.rename(Path(beside, "old"))  # is removed with the temporary folder
            fresh.rename(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"{reason}.", where=str(target), hint=_OTHER_FOLDER) from error


def reason_to_keep(folder: Path) -> str | None:
    """Why the folder at this path must not be replaced, as an error message; None if it may be replaced."""
    if not os.path.lexists(folder):
        return None
    if folder.is_symlink() or not folder.is_dir():
        return "This exists already and is not a folder."
    if holds_run(folder):
        return "This holds a run, with the rollouts that were paid for."
    if not any(folder.iterdir()) or _is_unchanged(folder):
        return None
    if not (folder / MARK).exists():
        return _UNMARKED
    return "This exists already and has changed since skillsv wrote it; it was left as it is."


def check_folder(target: Path, *, skill: Path | None, force: bool) -> None:
    """Raise OutputError unless a folder can be written here: as `new_folder`, and the parent can be written."""
    try:
        _check_target(target, skill, force=force)
    except OSError as error:
        raise OutputError(f"{error.strerror or error}.", where=str(target), hint=_OTHER_FOLDER) from error
    _require_writable(target)


def check_text(target: Path, mark: str, *, force: bool) -> None:
    """Raise OutputError unless a text can be written here: a free place; with `force` a file that begins with `mark`.

    An empty file and a device hold nothing that could be lost.
    """
    check_file(target)
    if not target.is_file() or not target.stat().st_size:
        return
    if not force:
        raise OutputError(
            "This exists already; it was left as it is.", where=str(target), hint="Replace it with --force."
        )
    if not target.read_bytes().startswith(mark.encode()):
        raise OutputError(_UNMARKED, where=str(target), hint="Name another file.")


def check_replaceable(target: Path, mark: str, *, force: bool) -> None:
    """Raise OutputError unless a file can be written here: over one that begins with `mark`; with `force` over any."""
    check_file(target)
    if force or not target.is_file() or not target.stat().st_size:
        return
    with target.open("rb") as file:
        if file.read(len(mark.encode())) != mark.encode():
            hint = "Name another file, or replace this one with --force."
            raise OutputError(_UNMARKED, where=str(target), hint=hint)


def check_file(target: Path) -> None:
    """Raise OutputError unless a file can be written here, whatever it holds now."""
    if target.is_dir():
        raise OutputError("This is a folder.", where=str(target), hint="Name a file.")
    if not target.parent.is_dir():
        raise OutputError("There is no such folder.", where=str(target.parent), hint="Make it, or name another file.")
    if not target.exists():
        _require_writable(target)
    elif not os.access(target, os.W_OK):
        raise OutputError("Permission denied.", where=str(target), hint="Name another file.")


def _require_writable(target: Path) -> None:
    """Raise OutputError where nothing can be made in the folder that is to hold the target. Only trying tells."""
    parent = next(above for above in target.absolute().parents if above.exists())
    try:
        with TemporaryDirectory(prefix=f".{target.name}.", dir=parent):
            pass
    except OSError as error:
        raise OutputError(f"{error.strerror or error}.", where=str(target), hint=_OTHER_FOLDER) from error


def check_patch(target: Path, *, force: bool) -> Path:
    """The path of the patch beside `target`. Raises OutputError unless it is free, or with `force` SkillSV wrote it."""
    path = target.with_name(f"{target.name}.patch")
    if os.path.lexists(path):
        marked = path.is_file() and not path.is_symlink() and path.read_bytes().startswith(_PATCH_MARK)
        if not marked:
            raise OutputError(_UNMARKED, where=str(path), hint=_OTHER_FOLDER)
        if not force:
            raise OutputError(
                "This exists already; it was left as it is.", where=str(path), hint="Replace it with --force."
            )
    return path


def write_patch(target: Path, text: str, *, force: bool) -> Path:
    """Write the patch beside `target`, and return its path."""
    path = check_patch(target, force=force)
    path.write_bytes(_PATCH_MARK + text.encode("utf-8", errors="surrogateescape"))
    return path


def _check_target(target: Path, skill: Path | None, *, force: bool) -> None:
    place, source = target.resolve(), None if skill is None else skill.resolve()
    if source is not None and place.is_relative_to(source) and not source.is_file():
        raise OutputError("This is inside the skill.", where=str(target), hint="Choose a folder outside it with -o.")
    if source is not None and source.is_relative_to(place):
        raise OutputError("This holds the skill itself.", where=str(target), hint=_OTHER_FOLDER)
    parent = next(above for above in place.parents if above.exists())
    if not parent.is_dir():
        raise OutputError(f"{parent} is a file, not a folder.", where=str(target), hint=_OTHER_FOLDER)
    reason = reason_to_keep(target if target.is_symlink() else place)
    if reason is not None:
        raise OutputError(reason, where=str(target), hint=_OTHER_FOLDER)
    if not place.exists():
        return
    if any(folder.resolve().is_relative_to(place) for folder in (Path.cwd(), Path.home())):
        raise OutputError("This holds your working folder or your home folder.", where=str(target), hint=_OTHER_FOLDER)
    if not force:
        raise OutputError(
            "This exists already; it was left as it is.", where=str(target), hint="Replace it with --force."
        )


def _is_unchanged(folder: Path) -> bool:
    try:
        return (folder / MARK).read_bytes() == _mark_text(folder)
    except OSError:
        return False


def _mark_text(folder: Path) -> bytes:
    """The content of the mark: the digest of all other files below the folder. Links are named, not followed."""
    files: list[RenderedFile] = []
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                elif path != folder / MARK:
                    name, plain = path.relative_to(folder).as_posix(), entry.is_file(follow_symlinks=False)
                    files.append(_read_digest(path, name) if plain else RenderedFile(path=name, data=None, digest=""))
    return f"{_MARK_TEXT}{tree_digest(files)}\n".encode()


def _read_digest(path: Path, name: str) -> RenderedFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        executable = bool(os.fstat(file.fileno()).st_mode & 0o111)
    return RenderedFile(path=name, data=None, digest=digest, executable=executable, origin=path)
