"""Why a unit has its verdict: a few words for its row, and a sentence about the tasks that it changed."""

from __future__ import annotations

from skillsv.model.format import points
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Action, UnitReport
from skillsv.model.value import Evidence as Finding
from skillsv.report.escape import escape_line, shorten
from skillsv.report.evidence import Evidence, UnitEvidence
from skillsv.report.line_names import LineNames

_ROW_CHARACTERS = 44
"""Characters of the reason in a unit's row."""


def row_reason(unit: UnitReport, compiled: CompiledSkill, evidence: Evidence, names: LineNames) -> str:
    """The reason of a verdict in a few words: `lines 14 to 18 need it`, `helps 10 billing tasks`."""
    finding, found = unit.value.evidence, evidence.of(unit.id)
    match unit.verdict.action:
        case Action.KEEP if finding is not Finding.POSITIVE:
            return _needed(unit, compiled, names)
        case Action.KEEP:
            return _changes(found, evidence) or "raises the score"
        case Action.HARMFUL:
            return _changes(found, evidence) or "lowers the score"
        case Action.DELETE if finding is Finding.IDENTICAL:
            return "the agent gets the same bytes without it"
        case Action.DELETE:
            unchanged = found.comparisons and not found.raised and not found.lowered
            return "changes no task" if unchanged else "effect shown to be about zero"
        case Action.COMPRESS if unit.value.cost is not None:
            return f"its length costs {points(unit.value.cost.value, signed=False)} points"
        case Action.UNRESOLVED if not unit.value.has_value:
            return "not told apart from other lines yet"
        case Action.UNRESOLVED:
            return f"between {points(unit.value.net.low)} and {points(unit.value.net.high)}"
        case _:
            return shorten(escape_line(names.explain(unit.verdict.reason)).partition(":")[0], _ROW_CHARACTERS)


def _needed(unit: UnitReport, compiled: CompiledSkill, names: LineNames) -> str:
    needing = compiled.reverse_closure(frozenset({unit.id})) - {unit.id}
    verb = "needs" if len(needing) == 1 else "need"
    return f"{names.lines(needing)} {verb} it" if needing else "worth keeping"


def _changes(found: UnitEvidence, evidence: Evidence) -> str:
    """`helps 10 billing tasks`; both directions where a line has both."""
    parts = []
    for verb, tasks in (("helps", found.raised), ("harms", found.lowered)):
        strata = list(evidence.by_stratum(tasks))
        kind = f"{strata[0]} " if len(strata) == 1 and len(strata[0]) <= _ROW_CHARACTERS // 2 else ""
        if tasks:
            parts.append(f"{verb} {len(tasks)} {escape_line(kind)}task{'' if len(tasks) == 1 else 's'}")
    return ", ".join(parts)


def effect_sentence(found: UnitEvidence, evidence: Evidence) -> str:
    """Which tasks a unit serves, by stratum, out of how many comparisons."""
    if not found.comparisons:
        return ""
    tried = f"{found.comparisons:,} comparison{'' if found.comparisons == 1 else 's'} of a task with and without it"
    parts = []
    for verb, tasks in (("raised", found.raised), ("lowered", found.lowered)):
        if tasks:
            strata = ", ".join(f"{escape_line(name)} {number}" for name, number in evidence.by_stratum(tasks).items())
            number = f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}"
            parts.append(f"{verb} the score of {number}{f' ({strata})' if strata else ''}")
    if not parts:
        return f"In {tried}, it changed no score."
    return f"In {tried}, it {' and '.join(parts)}."
