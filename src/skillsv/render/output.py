"""A folder that appears whole or not at all, and never over something it should not replace."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from skillsv.errors import OutputError
from skillsv.model.coalition import RenderedFile
from skillsv.render.document import tree_digest
from skillsv.sandbox.run_files import holds_run

MARK = ".skillsv-output"
"""The file that marks a folder as written by SkillSV. Its name is hidden, so it is no part of the skill."""

_MARK_TEXT = "Written by skillsv. Its --force replaces this folder as long as nothing in it has changed.\n"
_PATCH_MARK = b"Written by skillsv.\n"  # programs that apply patches skip what comes before the first file
_ELSEWHERE = "Choose another folder with -o."


@contextmanager
def new_folder(target: Path, *, skill: Path, force: bool = False) -> Iterator[Path]:
    """Yields a folder to write into; it becomes `target` when the block ends well, else nothing is left of it.

    `skill` is where the skill was read from: nothing is written into it, and nothing that holds it is replaced.
    `force` replaces an empty folder, or one that this function wrote and nobody has changed since.
    """
    try:
        _check(target, skill, force=force)
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as beside:
            fresh = Path(beside, "new")
            fresh.mkdir()
            yield fresh
            if any(fresh.iterdir()):  # an empty folder is the bare agent's, and needs no mark
                (fresh / MARK).write_bytes(_mark_text(fresh))
            _check(target, skill, force=force)  # writing may have taken minutes
            if target.exists():
                target.rename(Path(beside, "old"))  # goes away with the temporary folder
            fresh.rename(target)
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise OutputError(f"{reason}.", where=str(target), hint=_ELSEWHERE) from trouble


def why_kept(folder: Path) -> str | None:
    """Why what is at this path must not be replaced, in a sentence; None where nothing of the user's is there."""
    if not os.path.lexists(folder):
        return None
    if folder.is_symlink() or not folder.is_dir():
        return "This exists already and is not a folder."
    if holds_run(folder):
        return "This holds a run, with the rollouts that were paid for."
    if not any(folder.iterdir()) or _is_unchanged(folder):
        return None
    if not (folder / MARK).exists():
        return "This exists already and was not written by skillsv; it was left as it is."
    return "This exists already and has changed since skillsv wrote it; it was left as it is."


def check_patch(target: Path, *, force: bool) -> Path:
    """The path of the patch beside `target`; `force` replaces one that SkillSV wrote, any other file is refused."""
    path = target.with_name(f"{target.name}.patch")
    if os.path.lexists(path):
        ours = path.is_file() and not path.is_symlink() and path.read_bytes().startswith(_PATCH_MARK)
        if not ours:
            raise OutputError(
                "This exists already and was not written by skillsv; it was left as it is.",
                where=str(path),
                hint=_ELSEWHERE,
            )
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


def _check(target: Path, skill: Path, *, force: bool) -> None:
    place, source = target.resolve(), skill.resolve()
    if place.is_relative_to(source) and not source.is_file():
        raise OutputError("This is inside the skill.", where=str(target), hint="Choose a folder outside it with -o.")
    if source.is_relative_to(place):
        raise OutputError("This holds the skill itself.", where=str(target), hint=_ELSEWHERE)
    ground = next(above for above in place.parents if above.exists())
    if not ground.is_dir():
        raise OutputError(f"{ground} is a file, not a folder.", where=str(target), hint=_ELSEWHERE)
    reason = why_kept(target if target.is_symlink() else place)
    if reason is not None:
        raise OutputError(reason, where=str(target), hint=_ELSEWHERE)
    if not place.exists():
        return
    if any(home.resolve().is_relative_to(place) for home in (Path.cwd(), Path.home())):
        # --force replaces an earlier result, not somebody's home.
        raise OutputError("You are working in there.", where=str(target), hint=_ELSEWHERE)
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
    """What the mark says: the digest of everything else below the folder. Links are named, never followed."""
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
                    files.append(_digested(path, name) if plain else RenderedFile(path=name, data=None, digest=""))
    return f"{_MARK_TEXT}{tree_digest(files)}\n".encode()


def _digested(path: Path, name: str) -> RenderedFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        executable = bool(os.fstat(file.fileno()).st_mode & 0o111)
    return RenderedFile(path=name, data=None, digest=digest, executable=executable, origin=path)
