"""Headings as rules read them. A heading is no unit: what it refers to is needed by the units that it appears with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from skillsv.compiler.draft import Draft, DraftUnit
from skillsv.model.skill import Edge, Layout, Lines, PieceRole, Section, Span, UnitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading: its text in the form of a unit, and the units of its file with which a rendering shows it.

    `section` is the one whose units these are. `is_title`: no unit of the file stands above it, so units that lead to
    the file show it, too.
    """

    text: DraftUnit
    section: int
    units: tuple[DraftUnit, ...]
    is_title: bool

    def shown_with(self, draft: Draft) -> tuple[DraftUnit, ...]:
        """All units with which the heading is shown, in document order."""
        pointers = draft.pointers.get(self.text.file, ()) if self.is_title else ()
        units = {unit.position: unit for unit in (*self.units, *pointers)}
        return tuple(units[position] for position in sorted(units))


def find_headings(draft: Draft) -> Iterator[Heading]:
    """The headings that may refer to something: those with a dot, a slash or a bracket."""
    below: dict[int, list[DraftUnit]] = {}
    for unit in draft.body:
        for section in draft.ancestors(unit.section):
            below.setdefault(section, []).append(unit)
    sections_of: dict[str | None, list[Section]] = {}
    for row in draft.sections:
        if row.kind == "heading":
            sections_of.setdefault(row.file, []).append(row)
    for layout in draft.layouts:
        yield from _headings_of(layout, sections_of.get(layout.file, []), below)


class HeadingEdges:
    """Turns edges of headings into edges of the units that the headings are shown with."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        # Many headings without units are shown with the same units: these need a target once.
        self._done: set[tuple[int, bool, str]] = set()

    def spread(self, heading: Heading, edge: Edge) -> Iterator[Edge]:
        """The edge of a heading, as one of each unit; nothing where a heading shown with the same units had it."""
        key = (heading.section, heading.is_title, edge.target)
        if key in self._done:
            return
        self._done.add(key)
        for unit in heading.shown_with(self._draft):
            if unit.id != edge.target:
                yield replace(edge, source=unit.id, evidence=f"its heading: {edge.evidence}")


def _headings_of(layout: Layout, sections: list[Section], below: dict[int, list[DraftUnit]]) -> Iterator[Heading]:
    """The headings of one file. Each one opened a section, in the same order."""
    rows = iter(sections)
    is_title = True
    for piece in layout.pieces:
        is_title = is_title and piece.role is not PieceRole.UNIT
        if piece.role is not PieceRole.HEADING:
            continue
        row = next(rows)
        if set(row.title) & set("./["):
            # A heading without units below it is shown with the units of the section above it: `piece.section`.
            yield Heading(
                text=_as_unit(layout.file, row, piece.span),
                section=piece.section,
                units=tuple(below.get(piece.section, ())),
                is_title=is_title,
            )


def _as_unit(file: str, section: Section, span: Span) -> DraftUnit:
    line = section.lines.first if section.lines else 1
    return DraftUnit(
        position=-1,
        id="",
        kind=UnitKind.BLOCK,
        form="heading",
        file=file,
        span=span,
        lines=Lines(line, line),
        section=0,
        heading=0,
        group=0,
        text=section.title,
    )
