"""Pass 1, unitization: every byte of every file becomes part of one unit or of the scaffold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from skillsv.compile.draft import TRIGGER, Draft, DraftUnit, Region, find_regions
from skillsv.compile.frontmatter import Manifest, frontmatter_end, manifest_findings, read_manifest, text_findings
from skillsv.compile.hierarchy import SectionTable
from skillsv.compile.markdown import LineTable, TopBlock, cut_lines, top_blocks
from skillsv.compile.names import Names
from skillsv.compile.options import CompileOptions, Granularity
from skillsv.model.skill import FileRole, Finding, Layout, Lines, Piece, PieceRole, Skill, SkillFile, Span, UnitKind

# The main file as a flat row of elements: units of the asked size, and the scaffold between them.

_ITEMS = {"bullet", "ordered"}


class Element(NamedTuple):
    """Lines `first` up to `stop` are a unit, a heading, a rule or a marker (`level` 1 opens a region, 0 closes it)."""

    role: PieceRole
    form: str
    first: int
    stop: int
    kind: UnitKind = UnitKind.BLOCK
    title: str = ""
    level: int = 0


def row_of_elements(blocks: Sequence[TopBlock], regions: Sequence[Region], *, atomic: bool) -> Iterator[Element]:
    """Blocks become elements; an atomic region becomes one unit between its markers (none if it is empty)."""
    opens = {region.opening: region for region in regions}
    closes = {region.closing for region in regions}
    index = 0
    while index < len(blocks):
        block = blocks[index]
        region = opens.get(index)
        if region is not None:
            yield Element(PieceRole.MARKER, "marker", block.first, block.stop, title=region.name, level=1)
            if atomic and region.closing > index + 1:
                last = blocks[region.closing - 1]
                yield Element(PieceRole.UNIT, "region", blocks[index + 1].first, last.stop, UnitKind.REGION)
            index = region.closing if atomic else index + 1
            continue
        if index in closes:
            yield Element(PieceRole.MARKER, "marker", block.first, block.stop)
        else:
            yield _element(block)
        index += 1


def _element(block: TopBlock) -> Element:
    if block.form == "heading":
        return Element(PieceRole.HEADING, "heading", block.first, block.stop, title=block.text, level=block.level)
    if block.form == "rule":
        return Element(PieceRole.RULE, "rule", block.first, block.stop)
    kind = UnitKind.ITEM if block.form in _ITEMS else UnitKind.BLOCK
    return Element(PieceRole.UNIT, block.form, block.first, block.stop, kind)


def merge(elements: Iterator[Element], granularity: Granularity) -> Iterator[Element]:
    """Join neighbouring units to the asked size; scaffold always keeps them apart.

    `item`: an item keeps all that follows it up to the next item, other content joins into one run.
    `section`: everything of a section before its first subheading is one unit, inner rules included.
    """
    if granularity == "block":
        yield from elements
        return
    kept: Element | None = None
    rules: list[Element] = []
    for element in elements:
        if granularity == "section" and element.role is PieceRole.RULE and kept is not None:
            rules.append(element)
            continue
        if kept is not None and _joins(element, granularity):
            kept = _join(kept, element, granularity)
            rules.clear()
            continue
        if kept is not None:
            yield kept
            yield from rules
        rules.clear()
        kept = element if element.role is PieceRole.UNIT else None
        if kept is None:
            yield element
        elif granularity == "section" and element.kind is not UnitKind.REGION:
            kept = element._replace(form="section", kind=UnitKind.SECTION)
    if kept is not None:
        yield kept
        yield from rules


def _joins(element: Element, granularity: Granularity) -> bool:
    if element.role is not PieceRole.UNIT:
        return False
    return granularity == "section" or element.kind is not UnitKind.ITEM


def _join(kept: Element, element: Element, granularity: Granularity) -> Element:
    same = granularity == "section" or kept.kind is UnitKind.ITEM or kept.form == element.form
    return kept._replace(stop=element.stop, form=kept.form if same else "mixed")


# Auxiliary files as units: each text file one piece, binary and huge files leaves that no rule reads.

_LOOK = 8192


def resource_units(
    skill: Skill, sections: SectionTable, names: Names, place: int
) -> tuple[list[DraftUnit], list[Layout]]:
    """One unit and one layout per resource, ordered by path; places go on from `place`."""
    files = sorted(
        (file for file in skill.files if file.role is FileRole.RESOURCE), key=lambda file: file.path.split("/")
    )
    units: list[DraftUnit] = []
    layouts: list[Layout] = []
    for offset, file in enumerate(files):
        unit = _unit(file, sections, names, place + offset)
        piece = Piece(role=PieceRole.UNIT, span=unit.span, section=unit.section, unit=unit.id)
        units.append(unit)
        layouts.append(Layout(file=file.path, pieces=(piece,)))
    return units, layouts


def _unit(file: SkillFile, sections: SectionTable, names: Names, place: int) -> DraftUnit:
    binary = is_binary(file.data)
    text = "" if binary or file.data is None else _text(file.data)
    lines = Lines(1, max(text.count("\n") + (not text.endswith("\n")), 1))
    section = sections.add_file(file.path, lines.last)
    sections.mark_unit(section)
    flags = (("binary",) if binary else ()) + (("large",) if file.data is None else ())
    return DraftUnit(
        place=place,
        id=names.resource(file.path),
        kind=UnitKind.RESOURCE,
        form="binary" if binary else "text",
        file=file.path,
        span=Span(0, file.size),
        lines=lines,
        section=section,
        heading=section,
        stretch=-1 - place,
        text=text,
        flags=flags,
    )


def is_binary(data: bytes | None) -> bool:
    """Whether a file is no text: too large to look at, or with NUL bytes or much that is not UTF-8 in its beginning."""
    if data is None:
        return True
    head = data[:_LOOK]
    if b"\0" in head:
        return True
    odd = head.decode("utf-8", errors="replace").count("�")
    return odd * 20 > max(len(head), 20)


def _text(data: bytes) -> str:
    text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


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
