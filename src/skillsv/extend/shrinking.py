"""The steps of `shrink` that a study of it plays in memory: plan, choice and proof."""

from skillsv.confirmation import Gate
from skillsv.confirmation.paired_proof import PairedProof, ProofResult
from skillsv.decide.deletion_sets import candidate_sets, closures
from skillsv.pipeline.deletion_choice import ChosenSet
from skillsv.pipeline.shrink_choice import Evidence, choose_by_posterior, choose_by_trials, proof_pairs, start_trials
from skillsv.pipeline.shrink_plan import (
    FirstBatch,
    ShrinkGoal,
    ShrinkPlan,
    first_batch_size,
    plan_after_trials,
    plan_shrink,
    read_first_batch,
)

__all__ = [
    "ChosenSet",
    "Evidence",
    "FirstBatch",
    "Gate",
    "PairedProof",
    "ProofResult",
    "ShrinkGoal",
    "ShrinkPlan",
    "candidate_sets",
    "choose_by_posterior",
    "choose_by_trials",
    "closures",
    "first_batch_size",
    "plan_after_trials",
    "plan_shrink",
    "proof_pairs",
    "read_first_batch",
    "start_trials",
]
