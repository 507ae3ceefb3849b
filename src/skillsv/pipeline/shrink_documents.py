"""The result of a shrink as JSON, `skillsv.shrink/1`: at its end, or where something ended it early."""

from __future__ import annotations

from collections.abc import Sequence

from skillsv.confirmation.paired_proof import ProofResult
from skillsv.errors import SkillSVError
from skillsv.model.shrink_document import (
    ShrinkDocument,
    ShrinkProofDocument,
    ShrinkRolloutsDocument,
    ShrinkSetDocument,
    ShrinkStopDocument,
)
from skillsv.model.value import Interval
from skillsv.pipeline.deletion_choice import ChosenSet
from skillsv.pipeline.run import Run
from skillsv.pipeline.shrink_attempts import Attempts
from skillsv.pipeline.shrink_explanations import would_take
from skillsv.pipeline.shrink_plan import (
    ShrinkPlan,
)
from skillsv.pipeline.shrink_preparation import PreparedShrink
from skillsv.pipeline.shrink_proof import NewVersion
from skillsv.report.valuation_json import interval_dict

SHRINK_FILE = "shrink.json"
"""The file in the run folder that holds the result."""


def result_document(
    run: Run,
    plan: ShrinkPlan,
    attempts: Attempts,
    *,
    noisy: bool,
    rollouts: ShrinkRolloutsDocument,
    notes: Sequence[str],
) -> ShrinkDocument:
    """The result of a shrink that came to its end, as `skillsv.shrink/1`."""
    chosen, outcomes, passed = attempts.chosen, attempts.outcomes, attempts.proved
    results: list[ProofResult | None] = [*outcomes.results, *[None] * (len(chosen) - len(outcomes.results))]
    outcome = outcomes.results[-1].confirmation.outcome.value if outcomes.results else "nothing to remove"
    total = run.renderer.total_tokens
    document: ShrinkDocument = {
        "schema": "skillsv.shrink/1",
        "skill": run.compiled.skill.name,
        "outcome": outcome,  # type: ignore[typeddict-item]
        "claim": "these tasks" if plan.goal.same_tasks else "tasks like these",
        "max_drop": plan.goal.gate.max_drop,
        "units": len(run.compiled.execution),
        "removed": [] if passed is None else list(passed.removed),
        "refined": passed is not None and passed.renderer is not None,
        "tokens_before": total,
        "tokens_after": total if passed is None else passed.tokens,
        "noisy": noisy,
        "power": plan.power,
        "sets": [set_dict(*row) for row in zip(chosen, attempts.versions, results, strict=True)],
        "cost": outcomes.cost,
        "rollouts": rollouts,
        "notes": list(notes),
    }
    if attempts.stopped is not None:
        document["stopped"] = attempts.stopped
    if passed is None and outcomes.results:
        document["would_take"] = would_take(outcomes.results[-1])
    return document


def stop_of(error: SkillSVError) -> ShrinkStopDocument:
    """Why a shrink ended early, and what would help, by the error that ended it."""
    where = f"{error.where}: " if error.where else ""
    return {"reason": f"{where}{error.what}", "would_help": [error.hint] if error.hint else []}


def stopped_document(
    shrink: PreparedShrink,
    *,
    power: float,
    noisy: bool,
    rollouts: ShrinkRolloutsDocument,
    notes: Sequence[str],
    stopped: ShrinkStopDocument,
) -> ShrinkDocument:
    """The result of a shrink that ended after the first batch, as `skillsv.shrink/1`."""
    total = shrink.prepared.renderer.total_tokens
    return {
        "schema": "skillsv.shrink/1",
        "skill": shrink.prepared.compiled.skill.name,
        "outcome": "not shown",
        "claim": "these tasks" if shrink.goal.same_tasks else "tasks like these",
        "max_drop": shrink.goal.gate.max_drop,
        "removed": [],
        "refined": False,
        "tokens_before": total,
        "tokens_after": total,
        "noisy": noisy,
        "power": power,
        "sets": [],
        "cost": None,
        "rollouts": rollouts,
        "notes": list(notes),
        "stopped": stopped,
    }


def set_dict(chosen: ChosenSet, version: NewVersion, result: ProofResult | None) -> ShrinkSetDocument:
    """A proposed set with its proof, as the result lists it."""
    drop = chosen.drop
    return {
        "removed": list(version.removed),
        "tokens_after": version.tokens,
        "power": chosen.power,
        "predicted": interval_dict(Interval(-drop.value, -drop.high, -drop.low)),
        "outcome": None if result is None else result.confirmation.outcome.value,
        "proof": None if result is None else _proof_dict(result),
    }


def _proof_dict(result: ProofResult) -> ShrinkProofDocument:
    confirmation = result.confirmation
    return {
        "tasks": confirmation.tasks,
        "pairs": result.pairs,
        "old": interval_dict(confirmation.old),
        "new": interval_dict(confirmation.new),
        "delta": interval_dict(confirmation.delta),
        "at_worst": confirmation.at_worst or 0.0,
        "level": result.claim.gate.level,
        "lost": list(result.lost),
        "gained": list(result.gained),
    }
