"""The main file cut into pieces, each with the set of units it survives with, as bits of a number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from skillsv.model.coalition import RenderedFile
from skillsv.model.skill import CompiledSkill, Piece, PieceRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A piece of the main file: its bytes, and `scope`, the bits of the units it survives with (0 for a gap)."""

    data: bytes
    scope: int
    role: PieceRole
    unit: str | None = None

    @property
    def gap(self) -> bool:
        """Whether these are blank lines between blocks."""
        return self.role is PieceRole.GAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The main file as slices that concatenate to it."""

    path: str
    data: bytes
    slices: tuple[Slice, ...]


def main_document(compiled: CompiledSkill, bits: Mapping[str, int]) -> Document:
    """The main file of the skill, with the scaffold rule worked out for every slice."""
    path = compiled.skill.main
    data = compiled.skill.file(path).data or b""
    pieces = next((layout.pieces for layout in compiled.layouts if layout.file == path), ())
    below = _units_below(compiled, bits)
    slices = tuple(
        Slice(
            data=data[piece.span.start : piece.span.end],
            scope=_scope(piece, compiled, bits, below),
            role=piece.role,
            unit=piece.unit,
        )
        for piece in pieces
        if len(piece.span)  # a virtual trigger has no bytes: it is nowhere
    )
    return Document(path=path, data=data, slices=slices)


def _units_below(compiled: CompiledSkill, bits: Mapping[str, int]) -> list[int]:
    """For each section the bits of all units in its subtree; the trigger is a child of the root, beside the text."""
    below = [0] * len(compiled.sections)
    for layout in compiled.layouts:
        for piece in layout.pieces:
            if piece.unit is not None:
                below[0 if piece.unit == compiled.trigger else piece.section] |= bits[piece.unit]
    for index in range(len(below) - 1, 0, -1):  # a parent stands before its children
        below[compiled.sections[index].parent or 0] |= below[index]
    return below


def _scope(piece: Piece, compiled: CompiledSkill, bits: Mapping[str, int], below: list[int]) -> int:
    if piece.role is PieceRole.GAP:
        return 0
    if piece.unit is not None:
        return bits[piece.unit]
    if piece.role is PieceRole.BOM:
        return (1 << len(compiled.units)) - 1  # the mark belongs to the file: there with anything at all
    section: int | None = piece.section
    while section is not None and not below[section]:
        section = compiled.sections[section].parent  # a heading with no unit below it follows its parent
    return below[section] if section is not None else (1 << len(compiled.units)) - 1


# What a rendered document is put together from.

Part = tuple[int | None, bytes]
"""The number of a surviving slice with its bytes, or None with the gap or filler that stands between survivors."""


def joined(parts: list[Part]) -> bytes:
    """The bytes of the document."""
    return b"".join([data for _, data in parts])


# rho_del: absent units are gone. Survivors are joined by the longest gap that stood between them.


def deleted(document: Document, kept: int) -> list[Part]:
    """The slices that survive with the units whose bits are in `kept`, with the gaps between them.

    Where nothing is absent this is the original. Else the blank lines at the very top stay only in front of the slice
    they stood before, and those at the very end stay as long as anything does.
    """
    parts: list[Part] = []
    gap, skipped = b"", False
    for index, piece in enumerate(document.slices):
        if not piece.scope:
            if len(piece.data) > len(gap):
                gap = piece.data
        elif piece.scope & kept:
            if gap and (parts or not skipped):
                parts.append((None, gap))
            parts.append((index, piece.data))
            gap = b""
        else:
            skipped = True
    if not skipped:
        return [(None if piece.gap else index, piece.data) for index, piece in enumerate(document.slices)]
    if parts and document.slices[-1].gap:
        parts.append((None, document.slices[-1].data))
    return parts


# The identity of a rendered skill: a digest over paths, run bits and contents.


def file_digest(data: bytes) -> str:
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def tree_digest(files: Iterable[RenderedFile]) -> str:
    """One name for the whole tree: coalitions that render the same files are the same to an agent."""
    lines = sorted(f"{file.path}\0{'x' if file.executable else '-'}\0{file.digest}\n" for file in files)
    return hashlib.sha256("".join(lines).encode("utf-8", errors="surrogateescape")).hexdigest()
