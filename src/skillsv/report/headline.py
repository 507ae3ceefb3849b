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
    removed = _removed_units(valuation, shorter)
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


def _removed_units(valuation: Valuation, shorter: ShorterSkill) -> list[UnitReport]:
    removed = frozenset(shorter.removed)
    return [unit for unit in execution_units(valuation) if unit.id in removed]


def count_places(units: list[UnitReport]) -> str:
    """`3 lines`, `2 lines and 1 file`, or `3 units (12 lines)`: a file that is no Markdown is removed as a whole."""
    texts = [unit for unit in units if unit.kind is not UnitKind.RESOURCE]
    files = len(units) - len(texts)
    lines = sum(unit.lines.last - unit.lines.first + 1 for unit in texts)
    words = plural(lines, "line") if lines == len(texts) else f"{plural(len(texts), 'unit')} ({plural(lines, 'line')})"
    parts = [words] if texts else []
    return " and ".join([*parts, plural(files, "file")] if files else parts)


def numbers_sentence(valuation: Valuation, shorter: ShorterSkill | None, confirmation: Confirmation | None) -> str:
    """Why net effects, the expected change and the change on unseen tasks differ; empty without removals."""
    removed = [] if shorter is None else _removed_units(valuation, shorter)
    if shorter is None or not removed or not all(unit.value.has_value for unit in removed):
        return ""
    together = points(sum(unit.value.net.value for unit in removed))
    expected = points(shorter.expected_change)
    measured = "" if confirmation is None or not shorter.confirmed else points(confirmation.delta.value)
    unseen = f", and on unseen tasks they changed it by {measured}" if measured else ""
    why = ", and unseen tasks are other tasks" if measured else ""
    return (
        f"The net effects of what is deleted sum to {together} points. From the whole skill, the deletions are "
        f"expected to change the score of the valued tasks by {expected}{unseen}. These are different numbers: a net "
        f"effect is a mean over partial skills, the expected change is about the whole skill{why}."
    )


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
