"""The identity of a rendered skill: a digest over paths, run bits and contents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from skillsv.model.coalition import RenderedFile


def file_digest(data: bytes) -> str:
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def tree_digest(files: Iterable[RenderedFile]) -> str:
    """One name for the whole tree: coalitions that render the same files are the same to an agent."""
    lines = sorted(f"{file.path}\0{'x' if file.executable else '-'}\0{file.digest}\n" for file in files)
    return hashlib.sha256("".join(lines).encode("utf-8", errors="surrogateescape")).hexdigest()
