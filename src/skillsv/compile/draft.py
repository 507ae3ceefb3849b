"""The skill between the passes: cut into units and scaffold, not yet connected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from skillsv.compile.frontmatter import Manifest
from skillsv.compile.markdown import CodeBlock, TopBlock, split_fences
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


# Regions that an optimizer rewrites as a whole, found by their marker lines.


@dataclass(frozen=True, slots=True)
class Region:
    """The positions, in the list of blocks, of the two marker lines; `name` is the opening marker's words."""

    opening: int
    closing: int
    name: str


def find_regions(
    blocks: Sequence[TopBlock], lines: Sequence[str], pairs: Sequence[tuple[str, str]], file: str
) -> tuple[list[Region], list[Finding]]:
    """Pairs of markers, each alone on its line. A marker without its partner, or inside another region, is content."""
    ends = dict(pairs)
    words = {word for pair in pairs for word in pair}
    marks = [
        (index, lines[block.first].rstrip(" \t"))
        for index, block in enumerate(blocks)
        if block.form == "html" and block.stop == block.first + 1 and lines[block.first].rstrip(" \t") in words
    ]
    last = {word: index for index, word in marks}
    regions: list[Region] = []
    odd: list[Finding] = []
    opened: tuple[int, str] | None = None
    for index, word in marks:
        if opened and word == ends[opened[1]]:
            regions.append(Region(opened[0], index, opened[1].strip("<>!- ")))
            opened = None
        elif opened is None and last.get(ends.get(word, ""), -1) > index:
            opened = (index, word)
        else:
            odd.append(_orphan(word, file, blocks[index].first + 1, inside=opened is not None))
    return regions, odd


def _orphan(word: str, file: str, line: int, *, inside: bool) -> Finding:
    why = "stands inside another region" if inside else "has no partner"
    return Finding(
        code="orphan-marker",
        severity=Severity.WARNING,
        message=f"The marker {word} {why}, so it is read as ordinary content. Remove it, or complete the pair.",
        file=file,
        line=line,
    )
