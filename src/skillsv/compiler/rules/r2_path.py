"""R2 PATH: a unit needs the resources whose paths it names, in prose or in code."""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.compiler.draft import Draft, make_edge
from skillsv.compiler.references import PathIndex
from skillsv.model.skill import Edge


def find_path_edges(draft: Draft) -> Iterator[Edge]:
    """Edges from every readable unit, resources included, to the resources it names."""
    index = PathIndex(draft)
    if not index:
        return
    for unit in draft.readable:
        seen = {unit.id}
        for written, offset, resource in index.mentions(unit):
            if resource.id not in seen:
                seen.add(resource.id)
                yield make_edge("R2", unit, resource, f"names {written}", (unit.line_of(offset), 1))
