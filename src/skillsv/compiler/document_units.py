"""The units of one Markdown file, and the pieces that its bytes are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from skillsv.compiler.draft import TRIGGER, DraftUnit
from skillsv.compiler.granularity import Element
from skillsv.compiler.markdown import LineTable
from skillsv.compiler.names import Names
from skillsv.compiler.sections import SectionTable
from skillsv.model.skill import Layout, Lines, Piece, PieceRole, Span, UnitKind


class DocumentBuilder:
    """Builds the units of a Markdown file, and the pieces that make up its bytes, in one pass over its elements.

    `position` and `group` are those of the next unit. `prefix` goes before the ids of a file beside the main one.
    """

    def __init__(
        self,
        table: LineTable,
        file: str,
        sections: SectionTable,
        names: Names,
        *,
        position: int = 0,
        group: int = 0,
        prefix: str = "",
    ) -> None:
        self._table = table
        self._file = file
        self._sections = sections
        self._names = names
        self._first_position = position
        self._prefix = prefix
        self._lines_done = 0
        self.group = group
        self._pieces: list[Piece] = []
        self.units: list[DraftUnit] = []

    def start(self, frontmatter_lines: int) -> None:
        """Add the byte order mark, and the frontmatter of a file beside the main one: a unit as any other."""
        self._add_byte_order_mark(self._sections.current)
        if frontmatter_lines:
            self.add(Element(PieceRole.UNIT, "frontmatter", 0, frontmatter_lines))

    def start_main(self, frontmatter_lines: int) -> None:
        """Add the byte order mark and the trigger: the frontmatter, or a virtual trigger of zero bytes."""
        self._add_byte_order_mark(0)
        starts = self._table.starts
        span = Span(starts[0], starts[frontmatter_lines])
        if frontmatter_lines:
            self._pieces.append(Piece(role=PieceRole.UNIT, span=span, section=0, unit=TRIGGER))
        self.units.append(
            DraftUnit(
                position=0,
                id=TRIGGER,
                kind=UnitKind.TRIGGER,
                form="frontmatter",
                file=self._file,
                span=span,
                lines=Lines(1, max(frontmatter_lines, 1)),
                section=0,
                heading=0,
                group=0,
                text="\n".join(self._table.texts[:frontmatter_lines]),
                flags=() if frontmatter_lines else ("virtual",),
            )
        )
        self._lines_done = frontmatter_lines

    def add(self, element: Element) -> None:
        """Add one element, and the blank lines before it."""
        self._add_gap(element.first)
        span = Span(self._table.starts[element.first], self._table.starts[element.stop])
        self._lines_done = element.stop
        if element.role is PieceRole.UNIT:
            self._add_unit(element, span)
            return
        self.group += 1
        if element.role is PieceRole.HEADING:
            section = self._sections.open_heading(element.title, element.level, element.first + 1)
        elif element.role is PieceRole.MARKER:
            is_opening = element.level == 1
            section = (
                self._sections.open_region(element.title, element.first + 1)
                if is_opening
                else self._sections.close_region(element.stop)
            )
        else:
            section = self._sections.current
        self._pieces.append(Piece(role=element.role, span=span, section=section))

    def add_all(self, elements: Iterable[Element]) -> None:
        """Add the elements of the file, and the blank lines at its end."""
        for element in elements:
            self.add(element)
        self._add_gap(len(self._table))

    def layout(self) -> Layout:
        """The pieces of the file, in byte order."""
        return Layout(file=self._file, pieces=tuple(self._settled_pieces()))

    def _settled_pieces(self) -> list[Piece]:
        """The pieces; scaffold of a section without units moves to the nearest section above that has some."""
        settled = self._sections.settled
        return [
            piece if piece.section == settled(piece.section) else replace(piece, section=settled(piece.section))
            for piece in self._pieces
        ]

    def _add_byte_order_mark(self, section: int) -> None:
        start = self._table.starts[0]
        if start:
            self._pieces.append(Piece(role=PieceRole.BOM, span=Span(0, start), section=section))

    def _add_gap(self, line: int) -> None:
        if line > self._lines_done:
            span = Span(self._table.starts[self._lines_done], self._table.starts[line])
            self._pieces.append(Piece(role=PieceRole.GAP, span=span, section=self._sections.current))

    def _add_unit(self, element: Element, span: Span) -> None:
        section, heading = self._sections.current, self._sections.current_heading
        title = self._sections.title(heading)
        name = self._names.body(title, element.form, self._table.data[span.start : span.end], self._prefix)
        self._sections.mark_unit(section)
        self._pieces.append(Piece(role=PieceRole.UNIT, span=span, section=section, unit=name))
        self.units.append(
            DraftUnit(
                position=self._first_position + len(self.units),
                id=name,
                kind=element.kind,
                form=element.form,
                file=self._file,
                span=span,
                lines=Lines(element.first + 1, element.stop),
                section=section,
                heading=heading,
                group=self.group,
                text="\n".join(self._table.texts[element.first : element.stop]),
                flags=("protected",) if element.kind in {UnitKind.BLOCK, UnitKind.REGION} else (),
            )
        )
