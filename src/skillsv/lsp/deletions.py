"""Edits that remove units, offered only where a deletion is proved or changes no byte that the agent gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skillsv.lsp.unit_states import ValuedText
from skillsv.model.coalition import Operator
from skillsv.model.format import plural
from skillsv.model.skill import Lines, Span
from skillsv.rendering import Renderer


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """One offered edit: replace the bytes of `span` in the document by `text`."""

    title: str
    units: frozenset[str]
    span: Span
    text: str


def find_deletions(text: ValuedText, path: str, lines: Lines) -> Iterator[Deletion]:
    """The deletions to offer for some lines of a file: one for each unit there, and one for all that is proved.

    None where something else has changed since the run: the proof is not about this text.
    """
    if text.edited:
        return
    allowed = text.values.deletable & text.compiled.unit.keys()
    touched = False
    for valued, extent in text.in_file(path):
        if extent.lines.last < lines.first or extent.lines.first > lines.last or valued.unit.id not in allowed:
            continue
        units = text.compiled.reverse_closure(frozenset({valued.unit.id}))
        edit = _delete(text, path, units, _title(units, extent.lines)) if units <= allowed else None
        if edit is not None:
            touched = touched or valued.unit.id in text.values.proved
            yield edit
    proved = text.values.proved & text.compiled.unit.keys()
    if touched and len(proved) > 1 and text.compiled.reverse_closure(proved) == proved:
        edit = _delete(text, path, proved, f"Delete all {len(proved)} units whose deletion is proved")
        if edit is not None:
            yield edit


def _title(units: frozenset[str], lines: Lines) -> str:
    this = "Delete this line" if lines.first == lines.last else "Delete these lines"
    others = len(units) - 1
    return f"{this} and {plural(others, 'unit')} that {'needs' if others == 1 else 'need'} it" if others else this


def _delete(text: ValuedText, path: str, units: frozenset[str], title: str) -> Deletion | None:
    """The edit that removes units from a file; None where other files would change, too."""
    compiled = text.compiled
    extents = [extent for unit in units for extent in compiled.unit[unit].extents]
    if any(extent.file != path for extent in extents) or compiled.unreached_without(units):
        return None
    before = compiled.skill.file(path).data
    after = Renderer(compiled).render(compiled.everything - units, Operator.DELETE).contents.get(path)
    if before is None or after is None:
        return None
    span, replacement = _difference(before.decode("utf-8"), after.decode("utf-8"))
    return Deletion(title=title, units=units, span=span, text=replacement)


def _difference(before: str, after: str) -> tuple[Span, str]:
    """The smallest stretch of `before`, in bytes, that has to be replaced to get `after`, and its replacement."""
    start = _common_length(before, after)
    end = _common_length(before[start:][::-1], after[start:][::-1])
    first = len(before[:start].encode("utf-8"))
    last = len(before[: len(before) - end].encode("utf-8"))
    return Span(first, last), after[start : len(after) - end]


def _common_length(one: str, other: str) -> int:
    """The number of characters that two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))
