"""Why a unit has its verdict: a few words for its row, and a sentence about the tasks that it changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from skillsv.model.format import points
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Action, UnitReport
from skillsv.model.value import Evidence as Finding
from skillsv.report.escape import escape_line, shorten
from skillsv.report.evidence import Evidence, UnitEvidence
from skillsv.report.line_names import LineNames

_ROW_CHARACTERS = 44
"""Characters of the reason in a unit's row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonContext:
    """What reasons are made from, besides the unit itself."""

    compiled: CompiledSkill
    evidence: Evidence
    names: LineNames


def row_reason(unit: UnitReport, context: ReasonContext) -> str:
    """The reason of a verdict in a few words: `lines 14 to 18 need it`, `helps 10 tasks (billing)`."""
    explain = _REASONS.get(unit.verdict.action)
    if explain is not None:
        return explain(unit, context)
    reason = escape_line(context.names.explain(unit.verdict.reason)).partition(":")[0]
    return shorten(reason[:1].lower() + reason[1:], _ROW_CHARACTERS)


def _keep(unit: UnitReport, context: ReasonContext) -> str:
    if unit.value.evidence is not Finding.POSITIVE:
        return _needed(unit, context.compiled, context.names)
    return _changes(context.evidence.of(unit.id), context.evidence) or "raises the score"


def _harmful(unit: UnitReport, context: ReasonContext) -> str:
    return _changes(context.evidence.of(unit.id), context.evidence) or "lowers the score"


def _delete(unit: UnitReport, context: ReasonContext) -> str:
    if unit.value.evidence is Finding.IDENTICAL:
        return "the agent gets the same bytes without it"
    found = context.evidence.of(unit.id)
    unchanged = found.comparisons and not found.raised and not found.lowered
    return "changes no task" if unchanged else "effect shown to be about zero"


def _compress(unit: UnitReport, _context: ReasonContext) -> str:
    cost = unit.value.cost
    return "its length costs points" if cost is None else f"its length costs {points(cost.value, signed=False)} points"


def _unresolved(unit: UnitReport, _context: ReasonContext) -> str:
    if not unit.value.has_value:
        return "no value yet"
    return f"between {points(unit.value.on_panel.low)} and {points(unit.value.on_panel.high)}"


_REASONS: Mapping[Action, Callable[[UnitReport, ReasonContext], str]] = {
    Action.KEEP: _keep,
    Action.COMPRESS: _compress,
    Action.DELETE: _delete,
    Action.HARMFUL: _harmful,
    Action.UNRESOLVED: _unresolved,
}
"""How each verdict is explained in a row; a verdict without a row here shows the beginning of its reason."""


def _needed(unit: UnitReport, compiled: CompiledSkill, names: LineNames) -> str:
    needing = compiled.reverse_closure(frozenset({unit.id})) - {unit.id}
    verb = "needs" if len(needing) == 1 else "need"
    return f"{names.lines(needing)} {verb} it" if needing else "worth keeping"


def _changes(found: UnitEvidence, evidence: Evidence) -> str:
    """`helps 10 tasks (billing)`; both directions where a line has both. A noisy agent's scores change by chance."""
    if evidence.noisy:
        return ""
    parts = []
    for verb, tasks in (("helps", found.raised), ("harms", found.lowered)):
        strata = list(evidence.by_stratum(tasks))
        kind = f" ({escape_line(strata[0])})" if len(strata) == 1 and len(strata[0]) <= _ROW_CHARACTERS // 2 else ""
        if tasks:
            parts.append(f"{verb} {len(tasks)} task{'' if len(tasks) == 1 else 's'}{kind}")
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
    chance = " The agent is noisy: some of these changes are chance." if evidence.noisy else ""
    return f"In {tried}, it {' and '.join(parts)}.{chance}"
