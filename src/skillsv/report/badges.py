"""Badges: the checks a careful reader makes before believing the numbers, each with its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.value import Action, Valuation
from skillsv.report.format import closure_sentence, execution, plural
from skillsv.report.marginals import steps_of


class Mood(StrEnum):
    """Whether a check went well, needs a look, or could not be made."""

    GOOD = "good"
    LOOK = "look"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """One check: its name, a few words, and the sentence behind them."""

    name: str
    words: str
    mood: Mood
    reason: str


def badges(
    valuation: Valuation, records: Sequence[ChainRecord], observations: Sequence[Observation] = ()
) -> tuple[Badge, ...]:
    """All checks, in the order a reader asks for them."""
    return (
        _closure(valuation),
        _identity(records),
        _truncation(valuation, records),
        _unresolved(valuation),
        _activation([*_anchor_pairs(records), *_observed_pairs(observations)]),
    )


def _closure(valuation: Valuation) -> Badge:
    covered = valuation.estimate.closure.covered
    words, mood = ("adds up", Mood.GOOD) if covered else ("does not add up", Mood.LOOK)
    return Badge(name="closure", words=words, mood=mood, reason=closure_sentence(valuation))


def _identity(records: Sequence[ChainRecord]) -> Badge:
    """Both operators must render the whole skill to the same bytes: V_del(N) = V_pad(N)."""
    finished = [record for record in records if record.truncated_at is None and len(record.plan.operators) > 1]
    walks = [[steps_of(record, operator) for operator in record.plan.operators] for record in finished]
    ends = [{steps[-1].tree for steps in walk} for walk in walks if all(walk)]
    known = [trees for trees in ends if "" not in trees]
    name = "renderer identity"
    if not known:
        reason = "No chain with two operators ran to its end, so the whole skill was rendered once only."
        return Badge(name=name, words="not compared", mood=Mood.UNKNOWN, reason=reason)
    if all(len(trees) == 1 for trees in known):
        reason = f"Both operators render the whole skill to the same bytes ({plural(len(known), 'chain')} compared)."
        return Badge(name=name, words="holds", mood=Mood.GOOD, reason=reason)
    reason = "The operators render the whole skill differently: content and cost are not comparable."
    return Badge(name=name, words="broken", mood=Mood.LOOK, reason=reason)


def _truncation(valuation: Valuation, records: Sequence[ChainRecord]) -> Badge:
    share = valuation.estimate.truncation_share
    if not records:
        reason = "No chain was walked, so none was cut short."
        return Badge(name="truncation", words="no chains", mood=Mood.UNKNOWN, reason=reason)
    if share is None:
        return Badge(name="truncation", words="off", mood=Mood.GOOD, reason="Every prefix of every chain was scored.")
    reason = f"{1 - share:.0%} of the prefixes were not run: their chains had already reached the whole skill's score."
    return Badge(name="truncation", words=f"{1 - share:.0%} skipped", mood=Mood.GOOD, reason=reason)


def _unresolved(valuation: Valuation) -> Badge:
    units = execution(valuation)
    open_units = sum(unit.verdict.action is Action.UNRESOLVED for unit in units)
    share = open_units / len(units) if units else 0.0
    mood = Mood.LOOK if share > 1 / 3 else Mood.GOOD
    reason = (
        f"{open_units} of {plural(len(units), 'unit')} have intervals too wide for a verdict; more orders narrow them."
    )
    return Badge(name="unresolved", words=f"{share:.0%} of units", mood=mood, reason=reason)


Pair = tuple[float, float]
"""The scores of one task without the skill and with all of it."""


def _anchor_pairs(records: Sequence[ChainRecord]) -> list[Pair]:
    return [
        (bare, full)
        for record in records
        for bare, full in zip(record.empty, record.full, strict=True)
        if bare is not None and full is not None
    ]


def _observed_pairs(observations: Sequence[Observation]) -> list[Pair]:
    scored = [item for item in observations if item.score is not None]
    whole = max((len(item.coalition) for item in scored), default=0)
    bare = {(item.task, item.replicate): item.score for item in scored if not item.coalition}
    full = {(item.task, item.replicate): item.score for item in scored if len(item.coalition) == whole}
    return [(bare[place] or 0.0, full[place] or 0.0) for place in bare.keys() & full.keys()] if whole else []


def _activation(pairs: Sequence[Pair]) -> Badge:
    """Does the skill change anything at all? Same tasks, with all of it and without it."""
    changed = sum(bare != full for bare, full in pairs)
    if not pairs:
        return Badge(name="activation", words="unknown", mood=Mood.UNKNOWN, reason="No anchors were scored yet.")
    words = f"{changed / len(pairs):.0%} of answers" if changed else "no effect seen"
    reason = f"{changed} of {len(pairs)} paired scores differ between the whole skill and no skill."
    return Badge(name="activation", words=words, mood=Mood.GOOD if changed else Mood.LOOK, reason=reason)
