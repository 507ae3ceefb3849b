"""The skill after pass 1, as the rules see it: units, sections and scaffold, but no edges yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from skillsv.compiler.markdown import CodeBlock, split_fences
from skillsv.model.frontmatter import Frontmatter
from skillsv.model.skill import Edge, Finding, Layout, Lines, Location, Section, Severity, Skill, Span, UnitKind

TRIGGER = "m"
"""The id of the trigger unit m."""

MARKDOWN_ENDINGS = (".md", ".markdown", ".mdx")
"""Endings of the auxiliary files that are Markdown."""


@dataclass(frozen=True, kw_only=True)
class DraftUnit:
    """A unit as the rules see it.

    `position` counts units in document order (the trigger is 0). `heading` is the section of the nearest heading (or
    the file), `section` the section that contains the unit, which may be a region. Units with the same `group` have
    nothing but blank lines between them.
    """

    position: int
    id: str
    kind: UnitKind
    form: str
    file: str
    span: Span
    lines: Lines
    section: int
    heading: int
    group: int
    text: str
    flags: tuple[str, ...] = ()

    @cached_property
    def _prose_and_code(self) -> tuple[str, tuple[CodeBlock, ...]]:
        return ("", ()) if self.form == "code" else split_fences(self.text)

    @property
    def prose(self) -> str:
        """The text with the lines of fenced code emptied, so that line numbers stay the same."""
        return self._prose_and_code[0]

    @property
    def code(self) -> tuple[CodeBlock, ...]:
        """The fenced blocks of the unit."""
        return self._prose_and_code[1]

    @property
    def is_markdown(self) -> bool:
        """Whether the text is Markdown: of the main file, or of a Markdown file beside it."""
        return self.kind is not UnitKind.RESOURCE or self.file.lower().endswith(MARKDOWN_ENDINGS)

    def line_of(self, offset: int, text: str | None = None) -> int:
        """The file's line of a character offset in the unit's text (or in `text`, which has the same lines)."""
        return self.lines.first + (self.text if text is None else text).count("\n", 0, offset)

    def location(self, line: int | None = None) -> Location:
        """The unit's first line, or another line of its file, as a location."""
        return Location(file=self.file, line=self.lines.first if line is None else line)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """All units of a skill in document order, the trigger first, with the scaffold around them."""

    skill: Skill
    frontmatter: Frontmatter
    units: tuple[DraftUnit, ...]
    sections: tuple[Section, ...]
    layouts: tuple[Layout, ...]
    findings: tuple[Finding, ...]
    glued_rules: bool = False
    """Whether text stands right above a rule, so that CommonMark reads it as a heading."""

    pointers: Mapping[str, tuple[DraftUnit, ...]] = field(default_factory=dict)
    """For each auxiliary file that is cut into units, the units that lead a reader to it."""

    @cached_property
    def body(self) -> tuple[DraftUnit, ...]:
        """The units of the main file, without the trigger, and those inside other files."""
        return tuple(unit for unit in self.units[1:] if unit.kind is not UnitKind.RESOURCE)

    @cached_property
    def resources(self) -> Mapping[str, DraftUnit]:
        """The auxiliary files that are one unit each, by path."""
        return {unit.file: unit for unit in self.units[1:] if unit.kind is UnitKind.RESOURCE}

    @cached_property
    def files(self) -> Mapping[str, DraftUnit]:
        """All auxiliary files by path, each with its first unit."""
        files: dict[str, DraftUnit] = {}
        for unit in self.units[1:]:
            if unit.file != self.skill.main:
                files.setdefault(unit.file, unit)
        return files

    @cached_property
    def readable(self) -> tuple[DraftUnit, ...]:
        """The units whose text rules may read: all but the trigger and binary files."""
        return tuple(unit for unit in self.units[1:] if "binary" not in unit.flags)

    @cached_property
    def primary(self) -> Mapping[int, DraftUnit]:
        """The primary unit of each section: its first unit before any subheading, else its first descendant."""
        direct: dict[int, DraftUnit] = {}
        below: dict[int, DraftUnit] = {}
        for unit in self.body:
            direct.setdefault(unit.heading, unit)
            section: int | None = unit.heading
            while section is not None and section not in below:
                below[section] = unit
                section = self.sections[section].parent
        return below | direct

    def ancestors(self, section: int) -> frozenset[int]:
        """The section and all sections above it."""
        ancestors = set()
        current: int | None = section
        while current is not None:
            ancestors.add(current)
            current = self.sections[current].parent
        return frozenset(ancestors)


def make_edge(
    rule: str,
    source: DraftUnit,
    target: DraftUnit,
    evidence: str,
    lines: tuple[int, int] | None = None,
    *,
    prose: bool = False,
) -> Edge:
    """An edge: `source` needs `target` by this rule. `lines` are the two lines to show, else the units' first lines."""
    source_line, target_line = lines or (source.lines.first, target.lines.first)
    return Edge(
        rule=rule,
        source=source.id,
        target=target.id,
        evidence=evidence,
        at=source.location(source_line),
        target_at=target.location(target_line),
        prose=prose,
    )


def empty_section(unit: DraftUnit, title: str, line: int) -> Finding:
    """A warning for a reference to a section without units: it gives no edge."""
    return Finding(
        code="empty-section",
        severity=Severity.WARNING,
        message=f"This line refers to the section “{title}”, which is empty. Fill it, or remove the reference.",
        file=unit.file,
        line=line,
    )
