"""From Markdown blocks to elements of the chosen size: optimizer regions and the three granularities.

An element is a unit, or a piece of scaffold between units (heading, rule, marker). `units.py` gives elements their ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skillsv.compiler.markdown import TopBlock
from skillsv.compiler.options import Granularity
from skillsv.model.skill import Finding, PieceRole, Severity, UnitKind

_ITEM_FORMS = {"bullet", "ordered"}


class Element(NamedTuple):
    """Lines `first` up to `stop` are a unit, a heading, a rule or a marker (`level` 1 opens a region, 0 closes it)."""

    role: PieceRole
    form: str
    first: int
    stop: int
    kind: UnitKind = UnitKind.BLOCK
    title: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class Region:
    """A part that an optimizer rewrites as one piece: the positions of its two marker lines in the list of blocks.

    `name` is the text of the opening marker.
    """

    opening: int
    closing: int
    name: str


def find_regions(
    blocks: Sequence[TopBlock], lines: Sequence[str], pairs: Sequence[tuple[str, str]], file: str
) -> tuple[list[Region], list[Finding]]:
    """Regions between pairs of markers, each marker alone on its line.

    A marker without its partner, or inside another region, is content; a finding names it.
    """
    closing_of = dict(pairs)
    known = {marker for pair in pairs for marker in pair}
    markers = [
        (index, lines[block.first].rstrip(" \t"))
        for index, block in enumerate(blocks)
        if block.form == "html" and block.stop == block.first + 1 and lines[block.first].rstrip(" \t") in known
    ]
    last_index = {marker: index for index, marker in markers}
    regions: list[Region] = []
    findings: list[Finding] = []
    opened: tuple[int, str] | None = None
    for index, marker in markers:
        if opened and marker == closing_of[opened[1]]:
            regions.append(Region(opened[0], index, opened[1].strip("<>!- ")))
            opened = None
        elif opened is None and last_index.get(closing_of.get(marker, ""), -1) > index:
            opened = (index, marker)
        else:
            findings.append(_orphan_marker(marker, file, blocks[index].first + 1, inside=opened is not None))
    return regions, findings


def make_elements(blocks: Sequence[TopBlock], regions: Sequence[Region], *, atomic: bool) -> Iterator[Element]:
    """Turn blocks into elements; an atomic region becomes one unit between its markers (none if it is empty)."""
    region_at = {region.opening: region for region in regions}
    closing_at = {region.closing for region in regions}
    index = 0
    while index < len(blocks):
        block = blocks[index]
        region = region_at.get(index)
        if region is not None:
            yield Element(PieceRole.MARKER, "marker", block.first, block.stop, title=region.name, level=1)
            if atomic and region.closing > index + 1:
                last = blocks[region.closing - 1]
                yield Element(PieceRole.UNIT, "region", blocks[index + 1].first, last.stop, UnitKind.REGION)
            index = region.closing if atomic else index + 1
            continue
        if index in closing_at:
            yield Element(PieceRole.MARKER, "marker", block.first, block.stop)
        else:
            yield _make_element(block)
        index += 1


def merge_elements(elements: Iterator[Element], granularity: Granularity) -> Iterator[Element]:
    """Join neighbouring units to the chosen size; scaffold between two units always keeps them apart.

    `block`: nothing is joined. `group`: an item keeps everything up to the next item, and other content
    joins into one unit (`item` is the earlier word for it).
    `section`: everything of a section before its first subheading is one unit, inner rules included.
    """
    if granularity == "block":
        yield from elements
        return
    unit: Element | None = None
    rules: list[Element] = []  # rules after the open unit: inside it if another unit joins, behind it otherwise
    for element in elements:
        if granularity == "section" and element.role is PieceRole.RULE and unit is not None:
            rules.append(element)
            continue
        if unit is not None and _joins(element, granularity):
            unit = _join(unit, element, granularity)
            rules.clear()
            continue
        if unit is not None:
            yield unit
            yield from rules
        rules.clear()
        unit = element if element.role is PieceRole.UNIT else None
        if unit is None:
            yield element
        elif granularity == "section" and element.kind is not UnitKind.REGION:
            unit = element._replace(form="section", kind=UnitKind.SECTION)
    if unit is not None:
        yield unit
        yield from rules


def _make_element(block: TopBlock) -> Element:
    if block.form == "heading":
        return Element(PieceRole.HEADING, "heading", block.first, block.stop, title=block.title, level=block.level)
    if block.form == "rule":
        return Element(PieceRole.RULE, "rule", block.first, block.stop)
    kind = UnitKind.ITEM if block.form in _ITEM_FORMS else UnitKind.BLOCK
    return Element(PieceRole.UNIT, block.form, block.first, block.stop, kind)


def _joins(element: Element, granularity: Granularity) -> bool:
    if element.role is not PieceRole.UNIT:
        return False
    return granularity == "section" or element.kind is not UnitKind.ITEM


def _join(unit: Element, element: Element, granularity: Granularity) -> Element:
    keeps_form = granularity == "section" or unit.kind is UnitKind.ITEM or unit.form == element.form
    return unit._replace(stop=element.stop, form=unit.form if keeps_form else "mixed")


def _orphan_marker(marker: str, file: str, line: int, *, inside: bool) -> Finding:
    reason = "stands inside another region" if inside else "has no partner"
    return Finding(
        code="orphan-marker",
        severity=Severity.WARNING,
        message=f"The marker {marker} {reason}, so it is read as ordinary content. Remove it, or complete the pair.",
        file=file,
        line=line,
    )
