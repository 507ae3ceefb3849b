"""R9 LEAD-IN (heuristic): what a line introduces needs that line: by a colon, by its words, or as a label."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillsv.compiler.draft import Draft, DraftUnit, make_edge
from skillsv.model.skill import Edge

_COLON_END = re.compile(r"[:：][*_`)\]]*[ \t]*$")
_ANNOUNCES = re.compile(
    r"(?i)\b(?:the following(?: \w+){0,3}|as follows|like (?:this|so)|(?:follow|use|run|apply) these \w+(?: \w+)?"
    r"|these (?:\w+ )?(?:steps|rules|commands|options|checks|guidelines)|for example|below)[.…]?[*_)]*$"
)
_LABEL = re.compile(r"(?:\*\*|__)(?=\S)([^*_\n]+)(?:\*\*|__)(?P<rest>[^\n]*)")
_LABEL_REST = re.compile(r"(?:\s*\([^()\n]*\))?(?:\s*(?::|[-–—])\s+[^.!?\n]+)?")
_INTRODUCED_FORMS = {"bullet", "ordered", "fence", "code", "table"}
"""Forms that a line without a colon may introduce."""

_MOST_LABEL_WORDS = 12
"""Words of a label; a longer bold line is a statement."""

_ITEM_FORMS = {"bullet", "ordered"}
_NO_LEAD_IN = {"fence", "code", "table", "html", "definition", "region"}
"""Forms whose last line is never a lead-in."""


def find_lead_in_edges(draft: Draft) -> Iterator[Edge]:
    """Edges from each introduced unit to its lead-in: all items of one list type, or one other block."""
    yield from _find_edges(draft, colon_only=False)


def find_early_lead_in_edges(draft: Draft) -> Iterator[Edge]:
    """Version 1 of the rule: only a colon introduces."""
    yield from _find_edges(draft, colon_only=True)


def _find_edges(draft: Draft, *, colon_only: bool) -> Iterator[Edge]:
    body = draft.body
    for index, lead in enumerate(body):
        has_colon = _introduces(lead)
        if not has_colon and (colon_only or not _introduces_without_colon(lead)):
            continue
        run = _introduced_units(body, index)
        if run and (has_colon or run[0].form in _INTRODUCED_FORMS):
            first, last = run[0].lines.first, run[-1].lines.last
            words = lead.text.rstrip().rsplit("\n", 1)[-1].strip()
            evidence = f"lead-in “{_short(words)}” introduces lines {first} to {last}"
            yield from (make_edge("R9", unit, lead, evidence, (unit.lines.first, lead.lines.last)) for unit in run)


def _introduces(unit: DraftUnit) -> bool:
    if unit.form in _NO_LEAD_IN:
        return False
    return _COLON_END.search(unit.prose[-80:].rstrip("\n")) is not None


def _introduces_without_colon(unit: DraftUnit) -> bool:
    """Whether a paragraph announces a list or an example ("Follow these steps."), or is a label in bold."""
    if unit.form != "paragraph":
        return False
    text = unit.text.strip()
    if _ANNOUNCES.search(text[-80:]):
        return True
    label = _LABEL.fullmatch(text)
    if label is None or len(text.split()) > _MOST_LABEL_WORDS or label[1].rstrip().endswith((".", "!", "?")):
        return False
    return _LABEL_REST.fullmatch(label["rest"].rstrip()) is not None


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
