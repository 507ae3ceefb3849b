"""Pass 1, unitization: every byte of every file becomes part of one unit or of the scaffold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from skillsv.compiler.draft import TRIGGER, Draft, DraftUnit
from skillsv.compiler.granularity import Element, find_regions, make_elements, merge_elements
from skillsv.compiler.markdown import LineTable, cut_lines, is_glued_rule, top_blocks
from skillsv.compiler.names import Names
from skillsv.compiler.options import CompileOptions
from skillsv.compiler.sections import SectionTable
from skillsv.model.frontmatter import Frontmatter, read_frontmatter
from skillsv.model.skill import (
    FileRole,
    Finding,
    Layout,
    Lines,
    Piece,
    PieceRole,
    Severity,
    Skill,
    SkillFile,
    Span,
    UnitKind,
)

_SAMPLE_BYTES = 8192
"""Bytes at the start of a resource that decide whether it is text."""


def unitize(skill: Skill, options: CompileOptions, findings: tuple[Finding, ...] = ()) -> Draft:
    """Cut a skill into N: the trigger m, the units of the main file, one unit per resource."""
    table = cut_lines(skill.file(skill.main).data or b"")
    frontmatter = read_frontmatter(table.texts)
    blocks = top_blocks(table.texts, frontmatter.lines, options.underlined)
    regions, marker_findings = find_regions(blocks, table.texts, options.markers, skill.main)
    elements = make_elements(blocks, regions, atomic=options.regions == "atomic")

    names = Names(TRIGGER)
    sections = SectionTable(skill.name, skill.main, len(table))
    main = _MainFile(table, skill.main, sections, names)
    main.start(frontmatter.lines)
    for element in merge_elements(elements, options.granularity):
        main.add(element)
    main.finish()
    resources, layouts = _resource_units(skill, sections, names, len(main.units))
    return Draft(
        skill=skill,
        frontmatter=frontmatter,
        units=(*main.units, *resources),
        sections=sections.rows(),
        layouts=(Layout(file=skill.main, pieces=tuple(main.settled_pieces())), *layouts),
        glued_rules=any(is_glued_rule(*pair, table.texts) for pair in pairwise(blocks)),
        findings=(
            *findings,
            *_text_findings(skill.main, table),
            *_frontmatter_findings(skill.main, frontmatter),
            *marker_findings,
        ),
    )


class _MainFile:
    """Builds the units of the main file, and the pieces that make up its bytes, in one pass over its elements."""

    def __init__(self, table: LineTable, file: str, sections: SectionTable, names: Names) -> None:
        self._table = table
        self._file = file
        self._sections = sections
        self._names = names
        self._lines_done = 0
        self._group = 0
        self._pieces: list[Piece] = []
        self.units: list[DraftUnit] = []

    def start(self, frontmatter_lines: int) -> None:
        """Add the byte order mark and the trigger: the frontmatter, or a virtual trigger of zero bytes."""
        starts = self._table.starts
        if starts[0]:
            self._pieces.append(Piece(role=PieceRole.BOM, span=Span(0, starts[0]), section=0))
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
        self._group += 1
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

    def finish(self) -> None:
        """Add the blank lines at the end of the file."""
        self._add_gap(len(self._table))

    def settled_pieces(self) -> list[Piece]:
        """The pieces; scaffold of a section without units moves to the nearest section above that has some."""
        settled = self._sections.settled
        return [
            piece if piece.section == settled(piece.section) else replace(piece, section=settled(piece.section))
            for piece in self._pieces
        ]

    def _add_gap(self, line: int) -> None:
        if line > self._lines_done:
            span = Span(self._table.starts[self._lines_done], self._table.starts[line])
            self._pieces.append(Piece(role=PieceRole.GAP, span=span, section=self._sections.current))

    def _add_unit(self, element: Element, span: Span) -> None:
        section, heading = self._sections.current, self._sections.current_heading
        title = self._sections.title(heading)
        name = self._names.body(title, element.form, self._table.data[span.start : span.end])
        self._sections.mark_unit(section)
        self._pieces.append(Piece(role=PieceRole.UNIT, span=span, section=section, unit=name))
        self.units.append(
            DraftUnit(
                position=len(self.units),
                id=name,
                kind=element.kind,
                form=element.form,
                file=self._file,
                span=span,
                lines=Lines(element.first + 1, element.stop),
                section=section,
                heading=heading,
                group=self._group,
                text="\n".join(self._table.texts[element.first : element.stop]),
                flags=("protected",) if element.kind in {UnitKind.BLOCK, UnitKind.REGION} else (),
            )
        )


def _resource_units(
    skill: Skill, sections: SectionTable, names: Names, position: int
) -> tuple[list[DraftUnit], list[Layout]]:
    """One unit and one layout per resource, ordered by path; positions start at `position`."""
    files = sorted(
        (file for file in skill.files if file.role is FileRole.RESOURCE), key=lambda file: file.path.split("/")
    )
    units: list[DraftUnit] = []
    layouts: list[Layout] = []
    for offset, file in enumerate(files):
        unit = _resource_unit(file, sections, names, position + offset)
        piece = Piece(role=PieceRole.UNIT, span=unit.span, section=unit.section, unit=unit.id)
        units.append(unit)
        layouts.append(Layout(file=file.path, pieces=(piece,)))
    return units, layouts


def _resource_unit(file: SkillFile, sections: SectionTable, names: Names, position: int) -> DraftUnit:
    """One file as one unit. No rule reads a binary or a huge file."""
    binary = _is_binary(file.data)
    text = "" if binary or file.data is None else _decode(file.data)
    lines = Lines(1, max(text.count("\n") + (not text.endswith("\n")), 1))
    section = sections.add_file(file.path, lines.last)
    sections.mark_unit(section)
    flags = (("binary",) if binary else ()) + (("large",) if file.data is None else ())
    return DraftUnit(
        position=position,
        id=names.resource(file.path),
        kind=UnitKind.RESOURCE,
        form="binary" if binary else "text",
        file=file.path,
        span=Span(0, file.size),
        lines=lines,
        section=section,
        heading=section,
        group=-1 - position,
        text=text,
        flags=flags,
    )


def _is_binary(data: bytes | None) -> bool:
    """Whether a file is not text: too large to read, or NUL bytes or more than 5 % invalid UTF-8 at its start."""
    if data is None:
        return True
    sample = data[:_SAMPLE_BYTES]
    if b"\0" in sample:
        return True
    invalid = sample.decode("utf-8", errors="replace").count("�")
    return invalid * 20 > max(len(sample), 20)


def _decode(data: bytes) -> str:
    text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _text_findings(file: str, table: LineTable) -> Iterator[Finding]:
    """Warnings for bytes that are not UTF-8, and for NUL characters."""
    problems = (
        ("not-utf8", "is not UTF-8", _first_invalid(table.data)),
        ("nul", "is a NUL character", table.data.find(b"\0")),
    )
    for code, problem, offset in problems:
        if offset >= 0:
            yield Finding(
                code=code,
                severity=Severity.WARNING,
                message=f"Byte {offset} {problem}; it is kept as it is. Save the file as plain UTF-8 text.",
                file=file,
                line=max(bisect_right(table.starts, offset), 1),
            )


def _first_invalid(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _frontmatter_findings(file: str, frontmatter: Frontmatter) -> Iterator[Finding]:
    """Findings for frontmatter that is missing or does not parse."""
    if not frontmatter.lines:
        yield Finding(
            code="no-frontmatter",
            severity=Severity.NOTE,
            message="There is no frontmatter, so the trigger m is virtual: zero bytes, value zero.",
            file=file,
        )
    elif frontmatter.problem:
        yield Finding(
            code="frontmatter-yaml",
            severity=Severity.WARNING,
            message=f"The frontmatter is kept but cannot be read as YAML: {frontmatter.problem}.",
            file=file,
            line=frontmatter.problem_line,
        )
