"""R8 LIST-CONT (heuristic): bullets right after a numbered step refine that step."""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.compiler.draft import Draft, DraftUnit, make_edge
from skillsv.model.skill import Edge


def find_list_edges(draft: Draft) -> Iterator[Edge]:
    """Edges from every bullet after an ordered item to that item, with only blank lines between them."""
    step: DraftUnit | None = None
    for unit in draft.body:
        if unit.form == "ordered":
            step = unit
        elif unit.form == "bullet" and step is not None and step.group == unit.group:
            evidence = f"marker “{_marker(unit)}” follows the numbered step “{_marker(step)}”"
            yield make_edge("R8", unit, step, evidence)
        else:
            step = None


def _marker(unit: DraftUnit) -> str:
    return unit.text.split(None, 1)[0]
