"""The files below a skill folder, in one fixed order, and what is left out on the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from skillsv.model.skill import Finding, Severity

MAIN = "SKILL.md"
_CACHES = {"__pycache__", "node_modules", "__MACOSX"}
_CACHE_FILES = {".pyc", ".pyo"}
_ANSWERS = "evals"


class Found(NamedTuple):
    """A regular file by its path below the skill; `nested`: it belongs to another skill inside this one."""

    path: str
    nested: bool


def walk(root: Path, main: str) -> Iterator[Found | Finding]:
    """Every regular file but the main one; hidden files and caches silently left out, the rest with a finding."""
    pending = [("", False)]
    while pending:
        here, nested = pending.pop()
        try:
            with os.scandir(root / here) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield unreadable(here or ".", error)
            continue
        if here and not nested and any(entry.name.lower() == MAIN.lower() for entry in entries):
            nested = True
            yield _note("nested-skill", "is another skill; it is carried along, not valued", here)
        for entry in entries:
            path = f"{here}/{entry.name}" if here else entry.name
            if path == main or _is_skipped(entry.name):
                continue
            problem = _problem(entry, path)
            if problem is not None:
                yield problem
            elif entry.is_dir(follow_symlinks=False):
                pending.append((path, nested))
            else:
                yield Found(path, nested)


def unreadable(path: str, error: OSError) -> Finding:
    """A file or folder that the system does not let us read."""
    return _left_out("unreadable", f"cannot be read ({reason(error)})", path)


def reason(error: OSError) -> str:
    """The system's own words for an error."""
    return (error.strerror or str(error)).lower()


def _problem(entry: os.DirEntry[str], path: str) -> Finding | None:
    if not _is_utf8(path):
        return _left_out("file-name", "has a name that is not UTF-8", ascii(path))
    if entry.is_symlink():
        return _left_out("symlink", "is a symbolic link, and links are never followed", path)
    if entry.is_dir(follow_symlinks=False):
        is_answers = entry.name == _ANSWERS
        return _note("evals", "holds answers and never reaches the agent", path) if is_answers else None
    return None if entry.is_file(follow_symlinks=False) else _left_out("special-file", "is not a regular file", path)


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in _CACHES or PurePosixPath(name).suffix in _CACHE_FILES


def _is_utf8(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _left_out(code: str, why: str, path: str) -> Finding:
    return Finding(code=code, severity=Severity.WARNING, message=f"{path} {why}; it is left out.", file=path)


def _note(code: str, what: str, path: str) -> Finding:
    return Finding(code=code, severity=Severity.NOTE, message=f"{path}/ {what}.", file=path)
