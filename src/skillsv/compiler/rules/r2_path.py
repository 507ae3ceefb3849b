"""R2 PATH: a unit needs the resources whose paths it names, and those that its commands run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from skillsv.compiler.draft import Draft, DraftUnit, make_edge
from skillsv.compiler.headings import HeadingEdges, find_headings
from skillsv.compiler.paths import Mention, PathIndex, text_with_names
from skillsv.model.skill import Edge, UnitKind


def find_path_edges(draft: Draft) -> Iterator[Edge]:
    """Edges from every readable unit, resources included, to the resources it names or runs.

    Comments and docstrings of a code file name nothing, and neither does a drawing of a folder (`├── run.py`): it lists
    what is there. The units of a section need what its heading names.
    """
    index = PathIndex(draft)
    for unit in draft.readable if index else ():
        text = text_with_names(unit)
        mentions = chain(index.mentions(unit, text), index.calls(unit, text))
        yield from _edges(unit, mentions, _in_code(index, unit) if unit.is_markdown else None)
    heading_edges = HeadingEdges(draft)
    for heading in find_headings(draft) if index else ():
        for edge in _edges(heading.text, index.mentions(heading.text), in_code=set()):
            yield from heading_edges.spread(heading, edge)


def find_early_path_edges(draft: Draft) -> Iterator[Edge]:
    """Version 1 of the rule: no commands and no headings, and comments count."""
    index = PathIndex(draft)
    for unit in draft.readable if index else ():
        yield from _edges(unit, index.mentions(unit))


def _in_code(index: PathIndex, unit: DraftUnit) -> set[str]:
    """The resources that the fenced code of a Markdown unit names or runs."""
    texts = [block.code for block in unit.code]
    return {
        mention.resource.id for text in texts for mention in chain(index.mentions(unit, text), index.calls(unit, text))
    }


def _edges(unit: DraftUnit, mentions: Iterator[Mention], in_code: set[str] | None = None) -> Iterator[Edge]:
    """One edge for each resource. It is one of prose where the unit's code does not name the resource."""
    seen = {unit.id}
    for written, offset, resource in mentions:
        if resource.id not in seen and resource.kind is UnitKind.RESOURCE:
            seen.add(resource.id)
            lines = (unit.line_of(offset), 1)
            yield make_edge(
                "R2",
                unit,
                resource,
                f"names {written}",
                lines,
                prose=in_code is not None and resource.id not in in_code,
            )
