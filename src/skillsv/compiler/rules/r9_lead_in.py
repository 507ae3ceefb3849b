"""R9 LEAD-IN (heuristic): what a line ending in a colon introduces needs that line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillsv.compiler.draft import Draft, DraftUnit, make_edge
from skillsv.model.skill import Edge

_COLON_END = re.compile(r"[:：][*_`)\]]*[ \t]*$")
_ITEM_FORMS = {"bullet", "ordered"}
_NO_LEAD_IN = {"fence", "code", "table", "html", "definition", "region"}
"""Forms whose last line is never a lead-in."""


def find_lead_in_edges(draft: Draft) -> Iterator[Edge]:
    """Edges from each introduced unit to its lead-in: all items of one list type, or one other block."""
    body = draft.body
    for index, lead in enumerate(body):
        if not _introduces(lead):
            continue
        run = _introduced_units(body, index)
        if run:
            first, last = run[0].lines.first, run[-1].lines.last
            words = lead.text.rstrip().rsplit("\n", 1)[-1].strip()
            evidence = f"lead-in “{_short(words)}” introduces lines {first} to {last}"
            yield from (make_edge("R9", unit, lead, evidence, (unit.lines.first, lead.lines.last)) for unit in run)


def _introduces(unit: DraftUnit) -> bool:
    if unit.form in _NO_LEAD_IN:
        return False
    return _COLON_END.search(unit.prose[-80:].rstrip("\n")) is not None


def _introduced_units(body: tuple[DraftUnit, ...], index: int) -> list[DraftUnit]:
    lead = body[index]
    run: list[DraftUnit] = []
    for position in range(index + 1, len(body)):
        unit = body[position]
        if unit.group != lead.group or (run and unit.form != run[0].form):
            break
        if not run and unit.form in _ITEM_FORMS and unit.form == lead.form:
            break  # an item does not introduce the other items of its list
        run.append(unit)
        if unit.form not in _ITEM_FORMS:
            break
    return run


def _short(words: str) -> str:
    return words if len(words) <= 80 else f"…{words[-79:]}"
