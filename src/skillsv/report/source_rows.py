"""The skill as written, cut into rows: each unit with what is known of it, and the scaffold between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillsv.model.skill import CompiledSkill, FileRole, Piece, PieceRole, SkillFile, Span
from skillsv.report.escape import clip_lines, escape_text, size_in_words
from skillsv.report.unit_views import UnitView

_WIDTH = 4_000
_LINES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A slice of a file: `unit` for a valued piece, None for the trigger, headings, rules and markers.

    `first`: this row opens the unit's details; later pieces of a composite point back to it.
    """

    role: str
    line: int
    last: int
    text: str
    unit: UnitView | None = None
    first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """One file of the skill as the page shows it."""

    path: str
    anchor: str
    rows: tuple[Row, ...]
    size: str


_VIRTUAL = Row(role="trigger", line=1, last=1, text="(no frontmatter: the trigger is empty)")


def file_views(compiled: CompiledSkill, units: Mapping[str, UnitView]) -> list[FileView]:
    """All files that hold units, the main file first."""
    known = {
        member: units[unit.id] for unit in compiled.units if unit.id in units for member in (unit.id, *unit.members)
    }
    layouts = {layout.file: layout.pieces for layout in compiled.layouts}
    files = sorted(compiled.skill.files, key=lambda file: file.role is not FileRole.MAIN)
    cutter = _Cutter(known, compiled.trigger)
    views: list[FileView] = []
    for file in files:
        rows = cutter.rows(file, layouts.get(file.path) or _whole(file, known))
        if file.role is FileRole.MAIN and not len(compiled.unit[compiled.trigger].span):
            rows = (_VIRTUAL, *rows)
        if any(row.unit for row in rows) or file.role is FileRole.MAIN:
            anchor = f"file-{len(views) + 1}"
            views.append(FileView(path=escape_text(file.path), anchor=anchor, rows=rows, size=size_in_words(file.size)))
    return views


def _whole(file: SkillFile, known: Mapping[str, UnitView]) -> tuple[Piece, ...]:
    """A file without a layout (a binary one) is one piece, owned by the unit that names it."""
    owner = next((unit_id for unit_id, view in known.items() if view.report.file == file.path), None)
    return (Piece(role=PieceRole.UNIT, span=Span(0, file.size), section=0, unit=owner),) if owner else ()


class _Cutter:
    """Cuts files into rows and remembers which units have been shown, so that details appear once."""

    def __init__(self, known: Mapping[str, UnitView], trigger: str) -> None:
        self._known = known
        self._trigger = trigger
        self._shown: set[str] = set()

    def rows(self, file: SkillFile, pieces: Sequence[Piece]) -> tuple[Row, ...]:
        data, line, rows = file.data or b"", 1, []
        for piece in pieces:
            raw = data[piece.span.start : piece.span.end]
            height = raw.count(b"\n")
            if piece.role not in {PieceRole.GAP, PieceRole.BOM}:
                last = max(line, line + height - raw.endswith(b"\n"))
                rows.append(self._row(piece, _readable(raw, file), line, last))
            line += height
        return tuple(rows)

    def _row(self, piece: Piece, text: str, line: int, last: int) -> Row:
        unit = self._known.get(piece.unit or "")
        first = unit is not None and unit.anchor not in self._shown
        if unit is not None:
            self._shown.add(unit.anchor)
        role = "trigger" if piece.unit == self._trigger else str(piece.role)
        return Row(role=role, line=line, last=last, text=text, unit=unit, first=first)


def _readable(raw: bytes, file: SkillFile) -> str:
    if file.data is None or b"\0" in raw[:8192]:
        return f"(not text: {size_in_words(file.size)})"
    text = raw.decode("utf-8", errors="replace")
    return (
        clip_lines(escape_text(text[: _WIDTH * _LINES]).rstrip("\n"), width=_WIDTH, lines=_LINES)
        or "(nothing written here)"
    )
