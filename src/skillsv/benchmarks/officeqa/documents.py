"""The documents that questions are about: found by name below the data folder, and never outside it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillsv.errors import TaskError

_BETWEEN = re.compile(r"[\r\n;]+")


def names_in(field: str) -> tuple[str, ...]:
    """The entries of a CSV field that holds several, one a line (or with semicolons between them)."""
    return tuple(dict.fromkeys(part.strip() for part in _BETWEEN.split(field) if part.strip()))


def plain(name: str) -> bool:
    """Whether this is the name of a file, and no way to somewhere else."""
    return name not in {".", ".."} and not any(sign in name for sign in ("/", "\\", "\0"))


def text_files(data: Path) -> Mapping[str, Path]:
    """All text files below the data folder by name. Links that lead out of it are left aside.

    Where a name is there twice, the file in upstream's folder `transformed` goes first, then the one nearer to the top.
    """
    root = data.resolve()
    found: dict[str, list[Path]] = {}
    for folder, _, files in os.walk(data):
        for name in files:
            path = Path(folder, name)
            if name.endswith(".txt") and path.is_file() and path.resolve().is_relative_to(root):
                found.setdefault(name, []).append(path)
    return {name: min(paths, key=_preference) for name, paths in found.items()}


def _preference(path: Path) -> tuple[bool, int, str]:
    return path.parent.name != "transformed", len(path.parts), str(path)


def require(wanted: Sequence[str], there: Mapping[str, Path], data: Path, hint: str) -> None:
    """Say what is missing, once for all."""
    missing = sorted({name for name in wanted if name not in there})
    if missing:
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise TaskError(
            f"{len(missing)} of the {len(set(wanted))} documents are missing ({some}).", where=str(data), hint=hint
        )
