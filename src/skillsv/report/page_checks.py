"""The checks at the top of the page: what a careful reader asks before trusting the numbers, each with its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.format import percent, plural
from skillsv.model.value import Action, Valuation
from skillsv.report.marginals import steps_of
from skillsv.report.sentences import closure_sentence, execution_units

MOST_UNRESOLVED = 1 / 3
"""Share of units without a verdict above which the check warns."""

ScorePair = tuple[float, float]
"""The scores of one task without the skill and with all of it."""


class CheckStatus(StrEnum):
    """Whether a check passed, needs the reader's attention, or could not be made. The page uses it as a CSS class."""

    GOOD = "good"
    WARNING = "warning"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCheck:
    """One check: its name, its result in a few words, and a sentence that explains the result."""

    name: str
    result: str
    status: CheckStatus
    reason: str


def page_checks(
    valuation: Valuation, records: Sequence[ChainRecord], observations: Sequence[Observation] = ()
) -> tuple[PageCheck, ...]:
    """All checks that this run can answer, in the order of the page; chains are checked where there are some."""
    checks = (
        _closure(valuation),
        _unresolved(valuation),
        _activation([*_anchor_pairs(records), *_observed_pairs(observations)]),
        _identity(valuation, records),
        *([_truncation(valuation)] if records else []),
    )
    return tuple(check for check in checks if check.status is not CheckStatus.UNKNOWN)


def checks_sentence(checks: Sequence[PageCheck]) -> str:
    """All checks in a few words: `5 checks, all passed`, or what needs a look."""
    warnings = [check.name for check in checks if check.status is CheckStatus.WARNING]
    number = plural(len(checks), "check")
    return f"{number}, look at: {', '.join(warnings)}" if warnings else f"{number}, all passed"


def _closure(valuation: Valuation) -> PageCheck:
    covered = valuation.estimate.closure.covered
    result, status = ("yes", CheckStatus.GOOD) if covered else ("no", CheckStatus.WARNING)
    return PageCheck(name="values add up", result=result, status=status, reason=closure_sentence(valuation))


def _identity(valuation: Valuation, records: Sequence[ChainRecord]) -> PageCheck:
    """Both operators must render the whole skill to the same bytes: V_del(N) = V_pad(N).

    The valuation has the digests of both renderings; chains also recorded what their rollouts received.
    """
    finished = [record for record in records if record.truncated_at is None and len(record.plan.operators) > 1]
    chains = [[steps_of(record, operator) for operator in record.plan.operators] for record in finished]
    last_trees = [{steps[-1].tree for steps in chain} for chain in chains if all(chain)]
    compared = [trees for trees in last_trees if "" not in trees]
    name, in_chains = "same whole skill", f" ({plural(len(compared), 'chain')} compared)" if compared else ""
    if len(valuation.full_digests) > 1:
        compared.append(set(valuation.full_digests.values()))
    if not compared:
        reason = "Lines were only removed, never replaced by filler text, so there is nothing to compare."
        return PageCheck(name=name, result="not compared", status=CheckStatus.UNKNOWN, reason=reason)
    if all(len(trees) == 1 for trees in compared):
        reason = f"With lines removed or replaced by filler text, the whole skill is the same bytes{in_chains}."
        return PageCheck(name=name, result="yes", status=CheckStatus.GOOD, reason=reason)
    reason = "The whole skill differs between the two ways of leaving lines out: content and cost are not comparable."
    return PageCheck(name=name, result="no", status=CheckStatus.WARNING, reason=reason)


def _truncation(valuation: Valuation) -> PageCheck:
    name, share = "chains cut short", valuation.estimate.truncation_share
    if share is None:
        reason = "Every prefix of every chain was scored."
        return PageCheck(name=name, result="none", status=CheckStatus.GOOD, reason=reason)
    skipped = percent(1 - share)
    reason = f"{skipped} of the prefixes were not run: their chains had already reached the whole skill's score."
    return PageCheck(name=name, result=f"{skipped} skipped", status=CheckStatus.GOOD, reason=reason)


def _unresolved(valuation: Valuation) -> PageCheck:
    units = execution_units(valuation)
    unresolved = sum(unit.verdict.action is Action.UNRESOLVED for unit in units)
    share = unresolved / len(units) if units else 0.0
    return PageCheck(
        name="lines decided",
        result=f"{len(units) - unresolved} of {len(units)}",
        status=CheckStatus.WARNING if share > MOST_UNRESOLVED else CheckStatus.GOOD,
        reason=f"{unresolved} of {plural(len(units), 'line')} have intervals too wide for a verdict; more rollouts "
        "narrow them.",
    )


def _activation(pairs: Sequence[ScorePair]) -> PageCheck:
    """Does the skill change anything? The same tasks, with all of it and without it."""
    name, changed = "skill makes a difference", sum(bare != full for bare, full in pairs)
    if not pairs:
        reason = "No anchors were scored yet."
        return PageCheck(name=name, result="unknown", status=CheckStatus.UNKNOWN, reason=reason)
    result = f"{percent(changed / len(pairs))} of scores" if changed else "no effect seen"
    status = CheckStatus.GOOD if changed else CheckStatus.WARNING
    reason = f"{changed} of {len(pairs)} paired scores differ between the whole skill and no skill."
    return PageCheck(name=name, result=result, status=status, reason=reason)


def _anchor_pairs(records: Sequence[ChainRecord]) -> list[ScorePair]:
    return [
        (bare, full)
        for record in records
        for bare, full in zip(record.empty, record.full, strict=True)
        if bare is not None and full is not None
    ]


def _observed_pairs(observations: Sequence[Observation]) -> list[ScorePair]:
    """The pairs of an adaptive run; its largest scored coalition is taken to be the whole skill."""
    scored = [item for item in observations if item.score is not None]
    largest = max((len(item.coalition) for item in scored), default=0)
    bare = {(item.task, item.replicate): item.score for item in scored if not item.coalition}
    full = {(item.task, item.replicate): item.score for item in scored if len(item.coalition) == largest}
    return [(bare[key] or 0.0, full[key] or 0.0) for key in bare.keys() & full.keys()] if largest else []
