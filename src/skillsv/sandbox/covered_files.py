"""The files that an agent or verifier uses, their part of its fingerprint, and whether one changes during a run.

`basic` files are in the first part of a fingerprint, `further` files in its ending (see `skillsv.model.fingerprint`).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from skillsv.errors import SettingsError
from skillsv.sandbox.shell_scripts import in_system_folder, named_scripts, reach_scripts, shell_text
from skillsv.sandbox.sources import command_sources, hash_file, is_file, python_sources

MOST_FILES = 2000
"""Files of a folder argument that are covered. A larger folder is data or an installation, and takes long to read."""

MOST_BYTES = 64 * 1024 * 1024
"""Bytes of a folder argument that are covered."""

_OUTPUT_OPTION = re.compile(r"log|out|cache|tmp|temp|trace|result", re.IGNORECASE)
"""Options whose folder the program writes to."""

_LEFT_OUT = frozenset({"__pycache__", "node_modules"})
"""Folders that are not covered: they are made from other files. Hidden folders are not covered either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredFiles:
    """The files of an agent or verifier. `further` are by label: the name that counts besides the bytes.

    `folders` are the folder arguments whose files are in `further`, `skipped` those that are too large.
    """

    basic: tuple[Path, ...] = ()
    further: tuple[tuple[str, Path], ...] = ()
    folders: tuple[Path, ...] = ()
    skipped: tuple[Path, ...] = ()

    def __add__(self, other: CoveredFiles) -> CoveredFiles:
        return CoveredFiles(
            basic=self.basic + other.basic,
            further=self.further + other.further,
            folders=self.folders + other.folders,
            skipped=self.skipped + other.skipped,
        )


@runtime_checkable
class WatchedCode(Protocol):
    """An agent or verifier whose files can be compared with those that its fingerprint covers."""

    def find_change(self) -> Path | None:
        """A file that has changed since the fingerprint was made; None where none has."""


def find_change(*parts: object) -> Path | None:
    """A file of these agents and verifiers that has changed since their fingerprints were made."""
    changes = (part.find_change() for part in parts if isinstance(part, WatchedCode))
    return next((path for path in changes if path is not None), None)


class FileWatch:
    """The digests of covered files when they were first read. A file with the same size and times is not read again."""

    def __init__(self, covered: CoveredFiles) -> None:
        self.covered = covered
        self._read: dict[Path, tuple[tuple[int, ...], bytes]] = {}
        for path in (*covered.basic, *(path for _, path in covered.further)):
            self._read[path] = (_signature(path), hash_file(path))
        self._listed = {folder: _list_folder(folder) for folder in covered.folders}

    @property
    def basic(self) -> list[bytes]:
        """The digests of the basic files."""
        return [self._read[path][1] for path in self.covered.basic]

    @property
    def further(self) -> list[str]:
        """Labels and digests of the further files, for the ending of a fingerprint."""
        return [f"file {label} {self._read[path][1].hex()}" for label, path in self.covered.further]

    def find_change(self) -> Path | None:
        """A file that differs from the one that was read, is missing, or is new in a covered folder."""
        for path, (signature, digest) in self._read.items():
            try:
                current = _signature(path)
                if current != signature and hash_file(path) != digest:
                    return path
            except OSError:
                return path
            self._read[path] = (current, digest)
        for folder, listed in self._listed.items():
            new = next((path for path in _list_folder(folder) or () if path not in (listed or ())), None)
            if new is not None:
                return new
        return None


def python_files(file: Path) -> CoveredFiles:
    """A Python file and the files that it imports. Further files are those that only a relative import reaches."""
    basic = python_sources(file)
    return CoveredFiles(basic=tuple(basic), further=_labelled(set(python_sources(file, relative=True)) - set(basic)))


def command_files(argv: Sequence[str], folder: Path) -> CoveredFiles:
    """The program and the files that its command line names; further ones as far as they can be seen.

    Further files: of folder arguments, after `name=`, scripts that shell scripts or the text after `bash -c` name, and
    what Python files import relatively. Relative names start at `folder`.
    """
    basic = command_sources(argv)
    covered = _argument_folders(argv, folder)
    found = [*basic, *_assigned_files(argv, folder), *named_scripts(shell_text(argv), [folder])]
    files = reach_scripts(found, folder) - set(basic)
    return covered + CoveredFiles(basic=tuple(basic), further=_labelled(files))


def declared_files(patterns: Iterable[str], folder: Path) -> CoveredFiles:
    """The files of `--depends-on`: names, folders and globs, relative to `folder`. Raises SettingsError for no file."""
    further: list[tuple[str, Path]] = []
    for pattern in patterns:
        path = Path(pattern).expanduser()
        base, rest = (
            (Path(path.anchor), str(path.relative_to(path.anchor))) if path.is_absolute() else (folder, pattern)
        )
        found = [base / rest] if (base / rest).exists() else sorted(base.glob(rest))
        files = [file for item in found for file in (_walk(item) if item.is_dir() else [item])]
        if not files:
            raise SettingsError(f"--depends-on {pattern} matches no file.", hint=f"Looked in {base}.")
        further.extend((f"{pattern} {os.path.relpath(file, base)}", file.resolve()) for file in files)
    return CoveredFiles(further=tuple(further))


def _labelled(files: Iterable[Path]) -> tuple[tuple[str, Path], ...]:
    return tuple((path.name, path) for path in sorted(files))


def _signature(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


# Folder arguments and assignments


def _argument_folders(argv: Sequence[str], folder: Path) -> CoveredFiles:
    total = CoveredFiles()
    for option, value in _values(argv):
        path = (folder / value).absolute()
        if _OUTPUT_OPTION.search(option) or not _may_be_argument(value, path):
            continue
        files = _list_folder(path)
        if files is None:
            total += CoveredFiles(skipped=(path,))
        elif files:
            labelled = tuple((file.relative_to(path).as_posix(), file) for file in files)
            total += CoveredFiles(further=labelled, folders=(path,))
    return total


def _values(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The arguments, each with the option or name that it belongs to."""
    option = ""
    for word in argv[1:]:
        name, equals, value = word.partition("=")
        if equals and not name.startswith("/"):
            yield name, value
        elif not word.startswith("-"):
            yield option, word
        option = word if word.startswith("-") and not equals else ""


def _may_be_argument(value: str, path: Path) -> bool:
    """Whether a value names a folder of data. `.` is the workspace of the program, not the user's folder."""
    try:
        return (
            value.strip("./~") != ""
            and path.is_dir()
            and not in_system_folder(path)
            and not (path / "SKILL.md").exists()
        )
    except (OSError, ValueError):
        return False


def _list_folder(folder: Path) -> list[Path] | None:
    """The files of a folder argument, sorted; None if they are too many or too large."""
    files: list[Path] = []
    size = 0
    for path in _walk(folder):
        files.append(path)
        with contextlib.suppress(OSError):  # the file was removed just now
            size += path.stat().st_size
        if len(files) > MOST_FILES or size > MOST_BYTES:
            return None
    return sorted(files)


def _walk(folder: Path) -> Iterator[Path]:
    """Regular files below a folder, without hidden folders, skills and what is made from other files."""
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = [
            name
            for name in sorted(folders)
            if name not in _LEFT_OUT and not name.startswith(".") and not (here / name / "SKILL.md").exists()
        ]
        yield from (here / name for name in sorted(names) if is_file(here / name))


def _assigned_files(argv: Sequence[str], folder: Path) -> Iterator[Path]:
    """Files after `name=` or `--name=` that are not named in the first part of the fingerprint."""
    for word in argv[1:]:
        value = word.partition("=")[2]
        if value and is_file(folder / value):
            yield (folder / value).absolute()
