"""The first screen in words: what to do with the skill, how sure that is, and what the skill adds."""

from __future__ import annotations

from skillsv.model.concentration import count_carriers
from skillsv.model.edit import Confirmation, ProofOutcome
from skillsv.model.format import percent, plural, points, with_bounds
from skillsv.model.skill import UnitKind
from skillsv.model.value import Action, UnitReport, Valuation
from skillsv.report.edits import ShorterSkill
from skillsv.report.sentences import early_sentence, execution_units, net_effects


def headline(valuation: Valuation, shorter: ShorterSkill | None, confirmation: Confirmation | None) -> str:
    """The verdict in one sentence: `Delete 3 lines: 13% shorter, +19.4 points on 72 unseen tasks, confirmed`."""
    units = execution_units(valuation)
    unknown = sum(not unit.value.has_value for unit in units)
    if unknown and (shorter is None or not shorter.removed):
        return "No verdict yet: the run has measured too little"
    if shorter is None or not shorter.removed:
        return _headline_without_removals(units)
    removed = [unit for unit in units if unit.id in set(shorter.removed)]
    verb = f"Delete {count_places(removed)}: {percent(shorter.share_removed)} shorter"
    if confirmation is None or not shorter.confirmed:
        change = f"{points(shorter.expected_change)} points expected"
        return f"{verb}, {change}, not yet checked on unseen tasks"
    tasks = f"{points(confirmation.delta.value)} points on {plural(confirmation.tasks, 'unseen task')}"
    match confirmation.outcome:
        case ProofOutcome.NO_WORSE:
            return f"{verb}, {tasks}, confirmed"
        case ProofOutcome.WORSE:
            return f"Do not delete {count_places(removed)}: {tasks}, worse than the skill as written"
        case _:
            return f"{verb}, {tasks}, not confirmed"


def _headline_without_removals(units: tuple[UnitReport, ...]) -> str:
    open_units = sum(unit.verdict.action is Action.UNRESOLVED for unit in units)
    shorten = sum(unit.verdict.action is Action.COMPRESS for unit in units)
    if shorten:
        helps = "it helps, but its" if shorten == 1 else "they help, but their"
        undecided = f"; {plural(open_units, 'line')} undecided" if open_units else ""
        return f"Say {plural(shorten, 'line')} in fewer words: {helps} length costs points{undecided}"
    if open_units == len(units) > 0:
        return "No verdict yet: no line is measured precisely enough"
    if open_units:
        return f"Nothing to delete so far: {open_units} of {plural(len(units), 'line')} are undecided"
    return "Keep every line: none is shown to be worthless or harmful" if units else "This skill has no lines to value"


def count_places(units: list[UnitReport]) -> str:
    """`3 lines`, or `2 lines and 1 file`: a file that is no Markdown is removed as a whole."""
    files = sum(unit.kind is UnitKind.RESOURCE for unit in units)
    lines = len(units) - files
    parts = [plural(lines, "line")] if lines else []
    return " and ".join([*parts, plural(files, "file")] if files else parts)


def summary_sentences(valuation: Valuation, confirmation: Confirmation | None, *, confirmed: bool) -> list[str]:
    """What the skill adds, how few lines bring most of it, and what the proof rules out."""
    estimate, units = valuation.estimate, execution_units(valuation)
    full, base = (points(score.value, signed=False) for score in (estimate.anchors.full, estimate.anchors.trigger))
    lift = estimate.content_lift
    if lift.covers(0.0):
        sentences = [f"The skill is not shown to help: {base} points without its lines, {full} with all of them."]
    else:
        verb = "raises" if lift.value > 0 else "lowers"
        sentences = [f"As written, the skill {verb} the score from {base} to {full} of 100 points."]
    if early := early_sentence(valuation):
        return [*sentences, early]
    if carriers := count_carriers(net_effects(valuation)):
        verb = "brings" if carriers == 1 else "bring"
        sentences.append(f"{carriers} of its {plural(len(units), 'line')} {verb} 90% of that.")
    if confirmation is not None and confirmed:
        old, new = (points(score.value, signed=False) for score in (confirmation.old, confirmation.new))
        change = with_bounds(confirmation.delta)
        sentences.append(f"On unseen tasks: {old} before, {new} after, a change of {change} points.")
    return sentences
