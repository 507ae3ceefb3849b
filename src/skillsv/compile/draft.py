"""The skill between the passes: cut into units and scaffold, not yet connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from skillsv.compile.fences import CodeBlock, split_fences
from skillsv.compile.frontmatter import Manifest
from skillsv.model.skill import Edge, Finding, Layout, Lines, Location, Section, Severity, Skill, Span, UnitKind

TRIGGER = "m"
"""The id of the trigger unit m."""


@dataclass(frozen=True, kw_only=True)
class DraftUnit:
    """A unit as the rules see it.

    `place` is its position in document order (the trigger is 0). `heading` is the section of its nearest heading (or
    file), `section` the node it hangs under, which may be a region. Units of one `stretch` have nothing but blank
    lines between them.
    """

    place: int
    id: str
    kind: UnitKind
    form: str
    file: str
    span: Span
    lines: Lines
    section: int
    heading: int
    stretch: int
    text: str
    flags: tuple[str, ...] = ()

    @cached_property
    def _parts(self) -> tuple[str, tuple[CodeBlock, ...]]:
        return ("", ()) if self.form == "code" else split_fences(self.text)

    @property
    def prose(self) -> str:
        """The text with code lines blanked: same line numbers, no fences."""
        return self._parts[0]

    @property
    def code(self) -> tuple[CodeBlock, ...]:
        """The fenced blocks of the unit."""
        return self._parts[1]

    def line(self, offset: int, text: str | None = None) -> int:
        """The file's line number of a character offset in the unit's text (or in `text`, lined up with it)."""
        return self.lines.first + (self.text if text is None else text).count("\n", 0, offset)

    def at(self, line: int | None = None) -> Location:
        """The place to point at: the unit's first line, or another line of its file."""
        return Location(file=self.file, line=self.lines.first if line is None else line)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """All units of a skill in document order, the trigger first, with the scaffold around them."""

    skill: Skill
    manifest: Manifest
    units: tuple[DraftUnit, ...]
    sections: tuple[Section, ...]
    layouts: tuple[Layout, ...]
    findings: tuple[Finding, ...]

    @cached_property
    def body(self) -> tuple[DraftUnit, ...]:
        """The units of the main file, without the trigger."""
        return tuple(unit for unit in self.units[1:] if unit.kind is not UnitKind.RESOURCE)

    @cached_property
    def resources(self) -> Mapping[str, DraftUnit]:
        """The auxiliary files by path."""
        return {unit.file: unit for unit in self.units[1:] if unit.kind is UnitKind.RESOURCE}

    @cached_property
    def readable(self) -> tuple[DraftUnit, ...]:
        """The units whose text rules may read: everything but the trigger and binary files."""
        return tuple(unit for unit in self.units[1:] if "binary" not in unit.flags)

    @cached_property
    def primary(self) -> Mapping[int, DraftUnit]:
        """The unit that stands for a section: its first before any subheading, else its first descendant."""
        direct: dict[int, DraftUnit] = {}
        below: dict[int, DraftUnit] = {}
        for unit in self.body:
            direct.setdefault(unit.heading, unit)
            node: int | None = unit.heading
            while node is not None and node not in below:
                below[node] = unit
                node = self.sections[node].parent
        return below | direct

    def ancestors(self, section: int) -> frozenset[int]:
        """The section and everything above it."""
        found = set()
        node: int | None = section
        while node is not None:
            found.add(node)
            node = self.sections[node].parent
        return frozenset(found)


def edge(rule: str, source: DraftUnit, target: DraftUnit, evidence: str, lines: tuple[int, int] | None = None) -> Edge:
    """`source` needs `target` by this rule; `lines` point at the two places, or the units' first lines do."""
    at, target_at = lines or (source.lines.first, target.lines.first)
    return Edge(
        rule=rule,
        source=source.id,
        target=target.id,
        evidence=evidence,
        at=source.at(at),
        target_at=target.at(target_at),
    )


def empty_section(unit: DraftUnit, title: str, line: int) -> Finding:
    """A reference to a section that has no unit gives no edge, but a warning."""
    return Finding(
        code="empty-section",
        severity=Severity.WARNING,
        message=f"The section “{title}” is referred to here but holds nothing. Fill it, or drop the reference.",
        file=unit.file,
        line=line,
    )
