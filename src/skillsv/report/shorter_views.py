"""The shorter skill and the relations between lines, as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillsv.model.format import plural, points
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Valuation
from skillsv.report.edits import (
    FileDiff,
    RemovalView,
    SavedFile,
    ShorterSkill,
    file_diffs,
    removal_views,
    saved_file,
)
from skillsv.report.escape import clip_lines, escape_text
from skillsv.report.evidence import Evidence
from skillsv.report.line_names import LineNames
from skillsv.report.unit_views import UnitView

_SHOWN_LINES = 3_000
"""Lines of the shorter main file that the page shows; the saved file has all."""

_SHOWN_WIDTH = 4_000
"""Characters of such a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShorterView:
    """The shorter skill on the page: its text, its diff, its totals, and the bytes for the buttons."""

    text: str
    files: tuple[FileDiff, ...]
    removals: tuple[RemovalView, ...]
    anchors: Mapping[str, str]
    main: SavedFile | None
    patch: SavedFile | None
    other_files: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    full_score: str
    confirmed: bool


def shorter_view(
    shorter: ShorterSkill,
    valuation: Valuation,
    compiled: CompiledSkill,
    names: LineNames,
    anchors: Mapping[str, str],
) -> ShorterView:
    """What the page shows of a shorter skill. A skill that loses nothing has no diff."""
    removals = removal_views(shorter, names)
    lines = {unit.id: (unit.file, unit.lines.first) for unit in valuation.units}
    notes = {
        lines[unit]: f"{removal.number}. then {removal.tokens} tokens, {removal.score} points"
        for removal in removals
        for unit in removal.units[:1]
        if unit in lines
    }
    main = shorter.after.get(shorter.main, b"")
    text = escape_text(main.decode("utf-8", errors="replace")).rstrip("\n")
    return ShorterView(
        text=clip_lines(text, width=_SHOWN_WIDTH, lines=_SHOWN_LINES),
        files=tuple(file_diffs(shorter, notes)),
        removals=tuple(removals),
        anchors=anchors,
        main=saved_file(shorter.main.rpartition("/")[2], main),
        patch=saved_file(f"{_file_name(compiled.skill.name)}.patch", shorter.patch),
        other_files=tuple(escape_text(path) for path in shorter.changed if path != shorter.main),
        tokens_before=shorter.tokens_before,
        tokens_after=shorter.tokens_after,
        full_score=points(shorter.full_score, signed=False),
        confirmed=shorter.confirmed,
    )


def _file_name(name: str) -> str:
    """A name that is safe for a file on every system."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in name)[:80]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """Two lines that say the same or need each other, in words."""

    first: str
    second: str
    first_anchor: str | None
    second_anchor: str | None
    relation: str


def pair_views(evidence: Evidence, names: LineNames, anchors: Mapping[str, str]) -> list[PairView]:
    """All pairs in document order."""
    relations = {
        True: "seem to say the same: one changes scores only while the other is absent",
        False: "seem to need each other: one changes scores only while the other is present",
    }
    return [
        PairView(
            first=names.words(pair.first),
            second=names.words(pair.second),
            first_anchor=anchors.get(pair.first),
            second_anchor=anchors.get(pair.second),
            relation=relations[pair.redundant],
        )
        for pair in evidence.pairs
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyView:
    """One line that others need: its own value, and what the lines that need it are worth together."""

    unit: UnitView
    words: str
    needing: str
    number: str
    together: str
    evidence: str


def dependency_views(compiled: CompiledSkill, units: Mapping[str, UnitView], names: LineNames) -> list[DependencyView]:
    """Every line that others need, in document order. All lines need the frontmatter, which is left out."""
    evidence = {edge.target: edge.evidence for edge in reversed(compiled.edges)}
    views = []
    for name in compiled.execution:
        needing = compiled.reverse_closure(frozenset({name})) - {name}
        if not needing or name not in units:
            continue
        values = [units[other].report.value for other in needing if other in units]
        known = [value.net.value for value in values if value.has_value]
        views.append(
            DependencyView(
                unit=units[name],
                words=names.words(name),
                needing=names.lines(needing),
                number=plural(len(needing), "line"),
                together=points(sum(known) if known else None),
                evidence=escape_text(evidence.get(name, "")),
            )
        )
    return views
