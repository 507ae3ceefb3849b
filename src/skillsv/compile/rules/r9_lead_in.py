"""R9 LEAD-IN (heuristic): what a line ending in a colon introduces needs that line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillsv.compile.draft import Draft, DraftUnit, edge
from skillsv.model.skill import Edge

_COLON_END = re.compile(r"[:：][*_`)\]]*[ \t]*$")
_ITEMS = {"bullet", "ordered"}
_SILENT = {"fence", "code", "table", "html", "definition", "region"}


def lead_in(draft: Draft) -> Iterator[Edge]:
    """Edges from each unit of the introduced run to its lead-in: items of one list type, or one other block."""
    body = draft.body
    for index, lead in enumerate(body):
        if not _introduces(lead):
            continue
        run = _run(body, index)
        if run:
            first, last = run[0].lines.first, run[-1].lines.last
            words = lead.text.rstrip().rsplit("\n", 1)[-1].strip()
            evidence = f"lead-in “{_short(words)}” introduces lines {first} to {last}"
            yield from (edge("R9", unit, lead, evidence, (unit.lines.first, lead.lines.last)) for unit in run)


def _introduces(unit: DraftUnit) -> bool:
    if unit.form in _SILENT:
        return False
    return _COLON_END.search(unit.prose[-80:].rstrip("\n")) is not None


def _run(body: tuple[DraftUnit, ...], index: int) -> list[DraftUnit]:
    lead = body[index]
    run: list[DraftUnit] = []
    for at in range(index + 1, len(body)):
        unit = body[at]
        if unit.stretch != lead.stretch or (run and unit.form != run[0].form):
            break
        if not run and unit.form in _ITEMS and unit.form == lead.form:
            break  # an item does not lead its own siblings
        run.append(unit)
        if unit.form not in _ITEMS:
            break
    return run


def _short(words: str) -> str:
    return words if len(words) <= 80 else f"…{words[-79:]}"
