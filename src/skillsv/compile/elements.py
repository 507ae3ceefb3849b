"""The main file as a flat row of elements: units of the asked size, and the scaffold between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from skillsv.compile.blocks import TopBlock
from skillsv.compile.options import Granularity
from skillsv.compile.regions import Region
from skillsv.model.skill import PieceRole, UnitKind

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
