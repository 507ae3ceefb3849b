"""Pass 1, unitization: every byte of every file becomes part of one unit or of the scaffold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from skillsv.compiler.document_units import DocumentBuilder
from skillsv.compiler.draft import TRIGGER, Draft, DraftUnit
from skillsv.compiler.granularity import Element, find_regions, make_elements, merge_elements
from skillsv.compiler.markdown import LineTable, cut_lines, is_glued_rule, top_blocks
from skillsv.compiler.names import Names
from skillsv.compiler.options import CompileOptions
from skillsv.compiler.sections import SectionTable
from skillsv.model.frontmatter import Frontmatter, frontmatter_end, read_frontmatter
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


def unitize(
    skill: Skill, options: CompileOptions, findings: tuple[Finding, ...] = (), inside: frozenset[str] = frozenset()
) -> Draft:
    """Cut a skill into N: the trigger m, the units of the main file, one unit per resource.

    The Markdown files `inside` are cut as the main file is.
    """
    table = cut_lines(skill.file(skill.main).data or b"")
    frontmatter = read_frontmatter(table.texts)
    names = Names(TRIGGER)
    sections = SectionTable(skill.name, skill.main, len(table))
    main = DocumentBuilder(table, skill.main, sections, names)
    main.start_main(frontmatter.lines)
    document = _read_document(table, frontmatter.lines, skill.main, options)
    main.add_all(document.elements)
    files = _FileUnits(sections, names, options, len(main.units), main.group)
    for file in _resources(skill):
        files.add(file, inside=file.path in inside)
    return Draft(
        skill=skill,
        frontmatter=frontmatter,
        units=(*main.units, *files.units),
        sections=sections.rows(),
        layouts=(main.layout(), *files.layouts),
        glued_rules=document.glued_rules or files.glued_rules,
        findings=(
            *findings,
            *_text_findings(skill.main, table),
            *_frontmatter_findings(skill.main, frontmatter),
            *document.findings,
            *files.findings,
        ),
    )


class _Document(NamedTuple):
    """The elements of a Markdown file, its markers without a partner, and whether text stands right above a rule."""

    elements: tuple[Element, ...]
    findings: tuple[Finding, ...]
    glued_rules: bool


def _read_document(table: LineTable, first: int, file: str, options: CompileOptions) -> _Document:
    """Cut the lines of a Markdown file from `first` on."""
    blocks = top_blocks(table.texts, first, options.underlined)
    regions, findings = find_regions(blocks, table.texts, options.markers, file)
    elements = make_elements(blocks, regions, atomic=options.regions == "atomic")
    return _Document(
        tuple(merge_elements(elements, options.granularity)),
        tuple(findings),
        any(is_glued_rule(*pair, table.texts) for pair in pairwise(blocks)),
    )


def _resources(skill: Skill) -> list[SkillFile]:
    """The auxiliary files that are units, ordered by path."""
    files = (file for file in skill.files if file.role is FileRole.RESOURCE)
    return sorted(files, key=lambda file: file.path.split("/"))


class _FileUnits:
    """The units and layouts of the auxiliary files: one unit per file, or the units inside it."""

    def __init__(
        self, sections: SectionTable, names: Names, options: CompileOptions, position: int, group: int
    ) -> None:
        self._sections = sections
        self._names = names
        self._options = options
        self._position = position
        self._group = group
        self.units: list[DraftUnit] = []
        self.layouts: list[Layout] = []
        self.findings: list[Finding] = []
        self.glued_rules = False

    def add(self, file: SkillFile, *, inside: bool) -> None:
        """Add the next file, as one unit or as the units `inside` it, if it has any."""
        position = self._position + len(self.units)
        if inside and self._add_document(file, position):
            return
        unit = _resource_unit(file, self._sections, self._names, position)
        piece = Piece(role=PieceRole.UNIT, span=unit.span, section=unit.section, unit=unit.id)
        self.units.append(unit)
        self.layouts.append(Layout(file=file.path, pieces=(piece,)))

    def _add_document(self, file: SkillFile, position: int) -> bool:
        """Add the units inside a file; False where it holds nothing but headings."""
        table = cut_lines(file.data or b"")
        first = frontmatter_end(table.texts)
        document = _read_document(table, first, file.path, self._options)
        if not first and not any(element.role is PieceRole.UNIT for element in document.elements):
            return False
        self._sections.open_file(file.path, len(table))
        builder = DocumentBuilder(
            table,
            file.path,
            self._sections,
            self._names,
            position=position,
            group=self._group + 1,
            prefix=f"{self._names.path(file.path)}/",
        )
        builder.start(first)
        builder.add_all(document.elements)
        self._sections.close_file()
        self._group = builder.group
        self.units.extend(builder.units)
        self.layouts.append(builder.layout())
        self.findings.extend((*_text_findings(file.path, table), *document.findings))
        self.glued_rules = self.glued_rules or document.glued_rules
        return True


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
