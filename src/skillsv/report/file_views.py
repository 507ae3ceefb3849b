"""The page's panel "The skill, as written": each file as rows, one per unit, heading or other text between units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from skillsv.model.format import file_size, points
from skillsv.model.skill import CompiledSkill, FileRole, Piece, PieceRole, SkillFile, Span
from skillsv.model.value import SectionValue
from skillsv.report.escape import clip_lines, escape_text, is_binary

_WIDTH = 4_000
"""Characters of a line that the page shows."""

_LINES = 400
"""Lines of a unit that the page shows."""

_FOLD_LINES = 8
"""A text of more lines is folded."""

_FOLD_CHARACTERS = 900
"""A text of more characters is folded."""


class ShownUnit(Protocol):
    """What a row needs of a unit: the id of its element on the page, and its file."""

    @property
    def anchor(self) -> str:
        """The id of its element on the page."""

    @property
    def file(self) -> str:
        """The file that contains it."""


Shown = TypeVar("Shown", bound=ShownUnit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Generic[Shown]):
    """A piece of a file. `unit` is None for the trigger, headings, rules and markers.

    `first`: this row holds the unit's details; later pieces of a composite link back to it. `sum` is the sum of the
    values below a heading. `long`: the text is folded until the unit is opened.
    """

    role: str
    line: int
    last: int
    text: str
    unit: Shown | None = None
    first: bool = False
    sum: str = ""
    long: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView(Generic[Shown]):
    """One file of the skill as the page shows it."""

    path: str
    anchor: str
    rows: tuple[Row[Shown], ...]
    size: str


def file_views(
    compiled: CompiledSkill, units: Mapping[str, Shown], sections: Sequence[SectionValue] = ()
) -> list[FileView[Shown]]:
    """All files that hold units, the main file first. `sections` are the sums beside headings."""
    owners = {
        member: units[unit.id] for unit in compiled.units if unit.id in units for member in (unit.id, *unit.members)
    }
    layouts = {layout.file: layout.pieces for layout in compiled.layouts}
    files = sorted(compiled.skill.files, key=lambda file: file.role is not FileRole.MAIN)
    maker = _RowMaker(owners, compiled, {section.path: points(section.net.value) for section in sections})
    views: list[FileView[Shown]] = []
    for file in files:
        rows = maker.rows(file, layouts.get(file.path) or _single_piece(file, owners))
        if file.role is FileRole.MAIN and not len(compiled.unit[compiled.trigger].span):
            rows = (Row(role="trigger", line=1, last=1, text="(no frontmatter: the trigger is empty)"), *rows)
        if any(row.unit for row in rows) or file.role is FileRole.MAIN:
            anchor = f"file-{len(views) + 1}"
            views.append(FileView(path=escape_text(file.path), anchor=anchor, rows=rows, size=file_size(file.size)))
    return views


def _single_piece(file: SkillFile, owners: Mapping[str, Shown]) -> tuple[Piece, ...]:
    """A file without a layout, such as a binary file, is one piece of the unit with its path."""
    owner = next((unit_id for unit_id, view in owners.items() if view.file == file.path), None)
    return (Piece(role=PieceRole.UNIT, span=Span(0, file.size), section=0, unit=owner),) if owner else ()


class _RowMaker(Generic[Shown]):
    """Makes rows from pieces and remembers which units it has shown, so that details appear once."""

    def __init__(
        self, owners: Mapping[str, Shown], compiled: CompiledSkill, sums: Mapping[tuple[str, ...], str]
    ) -> None:
        self._owners = owners
        self._compiled = compiled
        self._sums = sums
        self._shown: set[str] = set()

    def rows(self, file: SkillFile, pieces: Sequence[Piece]) -> tuple[Row[Shown], ...]:
        data, line, rows = file.data or b"", 1, []
        for piece in pieces:
            raw = data[piece.span.start : piece.span.end]
            height = raw.count(b"\n")
            if piece.role not in {PieceRole.GAP, PieceRole.BOM}:
                last = max(line, line + height - raw.endswith(b"\n"))
                rows.append(self._row(piece, _text_of(raw, file), line, last))
            line += height
        return tuple(rows)

    def _row(self, piece: Piece, text: str, line: int, last: int) -> Row[Shown]:
        unit = self._owners.get(piece.unit or "")
        first = unit is not None and unit.anchor not in self._shown
        if unit is not None:
            self._shown.add(unit.anchor)
        role = "trigger" if piece.unit == self._compiled.trigger else str(piece.role)
        long = text.count("\n") >= _FOLD_LINES or len(text) > _FOLD_CHARACTERS
        total = self._sum(piece) if piece.role is PieceRole.HEADING else ""
        return Row(role=role, line=line, last=last, text=text, unit=unit, first=first, sum=total, long=long)

    def _sum(self, piece: Piece) -> str:
        sections = self._compiled.sections
        return self._sums.get(sections[piece.section].path, "") if piece.section < len(sections) else ""


def _text_of(raw: bytes, file: SkillFile) -> str:
    if file.data is None or is_binary(raw):
        return f"(not text: {file_size(file.size)})"
    text = raw.decode("utf-8", errors="replace")
    return clip_lines(escape_text(text[: _WIDTH * _LINES]).rstrip("\n"), width=_WIDTH, lines=_LINES) or "(empty)"
