"""A Markdown file as slices, each with the units it survives with; deletion of absent units; digests of renderings.

Sets of units are bits of an integer, one bit per unit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from skillsv.model.coalition import RenderedFile
from skillsv.model.skill import CompiledSkill, Piece, PieceRole

Part = tuple[int | None, bytes]
"""A part of a rendered document: the index of a surviving slice and its bytes, or None and a gap or filler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A piece of a file: its bytes, and `scope`, the bits of the units it survives with (0 for a gap)."""

    data: bytes
    scope: int
    role: PieceRole
    unit: str | None = None

    @property
    def gap(self) -> bool:
        """Whether the slice is blank lines between blocks."""
        return self.role is PieceRole.GAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A Markdown file. Its slices in order are all of its bytes; `scope` are the units that it is there with."""

    path: str
    data: bytes
    slices: tuple[Slice, ...]
    scope: int


def cut_document(compiled: CompiledSkill, path: str, bits: Mapping[str, int]) -> Document:
    """A file that is cut into units, with the scope of every slice. `bits` is the bit of each unit.

    The main file is there with every unit. Another file is there with its own units, and with those that lead to it:
    with these alone it has its title, or it is empty. So no reference leads to a file that is missing.
    """
    data = compiled.skill.file(path).data or b""
    pieces = next((layout.pieces for layout in compiled.layouts if layout.file == path), ())
    below = _units_below(compiled, bits)
    pointers = _mask(compiled.pointers.get(path, ()), bits)
    own = _mask((piece.unit for piece in pieces if piece.unit is not None), bits)
    scope = (1 << len(compiled.units)) - 1 if path == compiled.skill.main else own | pointers
    slices: list[Slice] = []
    in_title = True
    for piece in pieces:
        in_title = in_title and piece.unit is None
        piece_scope = scope if piece.role is PieceRole.BOM else _scope(piece, compiled, bits, below)
        if in_title and piece.role is PieceRole.HEADING:
            piece_scope |= pointers
        if len(piece.span):  # a virtual trigger has no bytes
            content = data[piece.span.start : piece.span.end]
            slices.append(Slice(data=content, scope=piece_scope, role=piece.role, unit=piece.unit))
    return Document(path=path, data=data, slices=tuple(slices), scope=scope)


def _mask(units: Iterable[str], bits: Mapping[str, int]) -> int:
    mask = 0
    for unit in units:
        mask |= bits[unit]
    return mask


def _units_below(compiled: CompiledSkill, bits: Mapping[str, int]) -> list[int]:
    """For each section the bits of all units in its subtree. The trigger belongs to the root."""
    below = [0] * len(compiled.sections)
    for layout in compiled.layouts:
        for piece in layout.pieces:
            if piece.unit is not None:
                below[0 if piece.unit == compiled.trigger else piece.section] |= bits[piece.unit]
    for index in range(len(below) - 1, 0, -1):  # parents have smaller indices than their children
        below[compiled.sections[index].parent or 0] |= below[index]
    return below


def _scope(piece: Piece, compiled: CompiledSkill, bits: Mapping[str, int], below: list[int]) -> int:
    """The units a piece survives with: its own unit, or any unit below its heading (the paper's scaffold rule)."""
    if piece.role is PieceRole.GAP:
        return 0
    if piece.unit is not None:
        return bits[piece.unit]
    section: int | None = piece.section
    while section is not None and not below[section]:
        section = compiled.sections[section].parent  # a heading without units below it survives with its parent
    return below[section] if section is not None else (1 << len(compiled.units)) - 1


def delete_absent(document: Document, kept: int) -> list[Part]:
    """rho_del: the slices that survive with the units in `kept`, joined by the longest gap that stood between them.

    If no slice is absent, this is the original. Else the blank lines at the top stay only if the first slice survives,
    and those at the end stay if any slice survives.
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


def join_parts(parts: list[Part]) -> bytes:
    """The bytes of the rendered document."""
    return b"".join([data for _, data in parts])


def file_digest(data: bytes) -> str:
    """The SHA-256 of the bytes of a file."""
    return hashlib.sha256(data).hexdigest()


def tree_digest(files: Iterable[RenderedFile]) -> str:
    """The identity of a rendering: a digest over paths, executable bits and contents, in any order of the files."""
    lines = sorted(f"{file.path}\0{'x' if file.executable else '-'}\0{file.digest}\n" for file in files)
    return hashlib.sha256("".join(lines).encode("utf-8", errors="surrogateescape")).hexdigest()
