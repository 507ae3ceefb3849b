"""Why a shrink proposes nothing, and what it would take to show a set whose proof failed. Pure."""

from __future__ import annotations

from skillsv.confirmation.paired_proof import ProofResult
from skillsv.confirmation.power import WANTED_POWER, pairs_needed
from skillsv.model.format import count, percent, plural, points, short_points
from skillsv.model.shrink_document import ShrinkStopDocument
from skillsv.pipeline.deletion_trials import DeletionTrials
from skillsv.pipeline.shrink_choice import Evidence
from skillsv.pipeline.shrink_plan import ShrinkPlan

LARGER_DROP = "a larger --max-drop"
"""What lets a proof pass that allows more loss."""

MORE_ROLLOUTS = "more rollouts (--max-rollouts)"
"""What pays for values, trials and a larger proof."""

SECTIONS = "--granularity section: fewer and larger units"
"""What leaves fewer units to find out about."""


def explain_values(evidence: Evidence, plan: ShrinkPlan) -> ShrinkStopDocument:
    """Why no set was chosen by values."""
    if not evidence.groups:
        return _all_kept()
    limit = short_points(plan.goal.gate.max_drop)
    return {
        "reason": f"by the values, no set of units has a fair chance to be proven to lose less than {limit} points",
        "would_help": [MORE_ROLLOUTS, LARGER_DROP, SECTIONS],
    }


def explain_trials(evidence: Evidence, trials: DeletionTrials, plan: ShrinkPlan) -> ShrinkStopDocument:
    """Why trials of a steady agent leave no set to prove."""
    if not evidence.groups:
        return _all_kept()
    if not trials.done:
        used = plural(trials.used, "rollout")
        reason = f"the trials, which took {used}, had too few to find out what the tasks need"
        return {"reason": reason, "would_help": [MORE_ROLLOUTS, SECTIONS]}
    if not trials.removed:
        return {"reason": "some task loses score without each unit that may go", "would_help": [LARGER_DROP]}
    return {
        "reason": f"what trials leave has hardly a chance to be proven with {plural(plan.size.pairs, 'pair')}",
        "would_help": ["more held-out tasks", MORE_ROLLOUTS, LARGER_DROP],
    }


def _all_kept() -> ShrinkStopDocument:
    return {
        "reason": "every unit is kept, by --keep, by a region that an optimizer owns, or by a unit that needs it",
        "would_help": ["fewer units in --keep"],
    }


def would_take(result: ProofResult) -> str:
    """What it would take to show the set of a failed proof, at the change and the variance that it measured."""
    gate, drop = result.claim.gate, -(result.confirmation.delta.value or 0.0)
    seen = f"On these pairs it loses {points(drop, signed=False)} points"
    if drop >= gate.max_drop:
        return f"{seen}, no less than the limit of {short_points(gate.max_drop)}: more rollouts would hardly show it."
    pairs = pairs_needed(gate, result.variance, drop=drop)
    if pairs is None:
        return f"{seen}, so near to the limit that no affordable number of rollouts would show it."
    where = "these tasks" if result.claim.same_tasks else f"{count(pairs)} held-out tasks"
    return (
        f"To show this set with {percent(WANTED_POWER)} power, if its real change is the measured one, it would take "
        f"{count(2 * pairs)} rollouts for the proof, on {where}."
    )
