"""Pass 1, unitization: every byte of every file becomes part of one unit or of the scaffold."""

from __future__ import annotations

from dataclasses import replace

from skillsv.compile.blocks import top_blocks
from skillsv.compile.draft import TRIGGER, Draft, DraftUnit
from skillsv.compile.elements import Element, merge, row_of_elements
from skillsv.compile.frontmatter import Manifest, frontmatter_end, read_manifest
from skillsv.compile.lines import LineTable, cut_lines
from skillsv.compile.names import Names
from skillsv.compile.oddities import manifest_findings, text_findings
from skillsv.compile.options import CompileOptions
from skillsv.compile.regions import find_regions
from skillsv.compile.resources import resource_units
from skillsv.compile.tree import SectionTable
from skillsv.model.skill import Finding, Layout, Lines, Piece, PieceRole, Skill, Span, UnitKind


def unitize(skill: Skill, options: CompileOptions, findings: tuple[Finding, ...] = ()) -> Draft:
    """Cut a skill into N: the trigger m, the units of the main file, one unit per resource."""
    data = skill.file(skill.main).data or b""
    table = cut_lines(data)
    end = frontmatter_end(table.texts)
    manifest = read_manifest(table.texts[1 : end - 1]) if end else Manifest()
    blocks = top_blocks(table.texts, end)
    regions, orphans = find_regions(blocks, table.texts, options.markers, skill.main)
    row = merge(row_of_elements(blocks, regions, atomic=options.regions == "atomic"), options.granularity)

    names = Names(TRIGGER)
    sections = SectionTable(skill.name, skill.main, len(table))
    body = _Body(table, skill.main, sections, names)
    body.start(end)
    for element in row:
        body.add(element)
    body.finish()
    resources, layouts = resource_units(skill, sections, names, len(body.units))
    return Draft(
        skill=skill,
        manifest=manifest,
        units=(*body.units, *resources),
        sections=sections.rows(),
        layouts=(Layout(file=skill.main, pieces=tuple(body.settled_pieces())), *layouts),
        findings=(
            *findings,
            *text_findings(skill.main, table),
            *manifest_findings(skill.main, manifest, present=end > 0),
            *orphans,
        ),
    )


class _Body:
    """Walks the main file once and lays down units and pieces side by side."""

    def __init__(self, table: LineTable, file: str, sections: SectionTable, names: Names) -> None:
        self._table = table
        self._file = file
        self._sections = sections
        self._names = names
        self._done = 0
        self._stretch = 0
        self._pieces: list[Piece] = []
        self.units: list[DraftUnit] = []

    def start(self, frontmatter: int) -> None:
        """Lay down the byte order mark and the trigger: the frontmatter, or a virtual one of zero bytes."""
        starts = self._table.starts
        if starts[0]:
            self._pieces.append(Piece(role=PieceRole.BOM, span=Span(0, starts[0]), section=0))
        span = Span(starts[0], starts[frontmatter])
        if frontmatter:
            self._pieces.append(Piece(role=PieceRole.UNIT, span=span, section=0, unit=TRIGGER))
        self.units.append(
            DraftUnit(
                place=0,
                id=TRIGGER,
                kind=UnitKind.TRIGGER,
                form="frontmatter",
                file=self._file,
                span=span,
                lines=Lines(1, max(frontmatter, 1)),
                section=0,
                heading=0,
                stretch=0,
                text="\n".join(self._table.texts[:frontmatter]),
                flags=() if frontmatter else ("virtual",),
            )
        )
        self._done = frontmatter

    def add(self, element: Element) -> None:
        """Lay down one element, and the blank lines before it."""
        self._gap(element.first)
        span = Span(self._table.starts[element.first], self._table.starts[element.stop])
        self._done = element.stop
        if element.role is PieceRole.UNIT:
            self._unit(element, span)
            return
        self._stretch += 1
        if element.role is PieceRole.HEADING:
            section = self._sections.heading(element.title, element.level, element.first + 1)
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

    def finish(self) -> None:
        """Lay down what is left: blank lines at the end."""
        self._gap(len(self._table))

    def settled_pieces(self) -> list[Piece]:
        """The pieces; scaffold of a section without units follows the nearest section above that has some."""
        settle = self._sections.settled
        return [
            piece if piece.section == settle(piece.section) else replace(piece, section=settle(piece.section))
            for piece in self._pieces
        ]

    def _gap(self, line: int) -> None:
        if line > self._done:
            span = Span(self._table.starts[self._done], self._table.starts[line])
            self._pieces.append(Piece(role=PieceRole.GAP, span=span, section=self._sections.current))

    def _unit(self, element: Element, span: Span) -> None:
        section, heading = self._sections.current, self._sections.current_heading
        title = self._sections.title(heading)
        name = self._names.body(title, element.form, self._table.data[span.start : span.end])
        self._sections.mark_unit(section)
        self._pieces.append(Piece(role=PieceRole.UNIT, span=span, section=section, unit=name))
        self.units.append(
            DraftUnit(
                place=len(self.units),
                id=name,
                kind=element.kind,
                form=element.form,
                file=self._file,
                span=span,
                lines=Lines(element.first + 1, element.stop),
                section=section,
                heading=heading,
                stretch=self._stretch,
                text="\n".join(self._table.texts[element.first : element.stop]),
                flags=("protected",) if element.kind in {UnitKind.BLOCK, UnitKind.REGION} else (),
            )
        )
