"""From a skill folder to an answer, in the order of the paper's figure. The only place where stages meet.

prepare    compile the skill, read the tasks, draw orders and windows, forecast the cost     free
roll_out   render partial skills, run the agent, keep every rollout in the ledger            spends
appraise   values, intervals, verdicts from the records                                      free
run        reading a run again from its folder                                               free
publish    valuation.json and report.html in the run folder                                  free
edit       a shorter skill, from the values                                                  free
refine     a rewritten skill: an editor's, checked, or duplicates merged                    free
confirm    old against new and pruning curves, on tasks not seen before                      spends
pairs      redundant and complementary units, suspected and tested                           spends
"""

from skillsv.pipeline.build_valuation import build_valuation
from skillsv.pipeline.confirm import (
    ConfirmJob,
    PreparedConfirmation,
    confirm_versions,
    keep_proof,
    prepare_confirmation,
)
from skillsv.pipeline.cost import measured_cost, require_measurable_budget, with_measured_cost
from skillsv.pipeline.edit import REMOVABLE, Pruned, original_of, prune
from skillsv.pipeline.interactions import PairsJob, prepare_pairs, try_pairs
from skillsv.pipeline.job import PreparedRun, ValuationJob, forecast_of, prepare
from skillsv.pipeline.probe import probe
from skillsv.pipeline.publish import page_of, proof_dict, publish, recorded_areas, recorded_confirmation
from skillsv.pipeline.refine import Revision, refine_mechanically, refine_with
from skillsv.pipeline.reopen import RunOverrides
from skillsv.pipeline.run import Run, load_run
from skillsv.pipeline.value import RolloutResult, roll_out

__all__ = [
    "REMOVABLE",
    "ConfirmJob",
    "PairsJob",
    "PreparedConfirmation",
    "PreparedRun",
    "Pruned",
    "Revision",
    "RolloutResult",
    "Run",
    "RunOverrides",
    "ValuationJob",
    "build_valuation",
    "confirm_versions",
    "forecast_of",
    "keep_proof",
    "load_run",
    "measured_cost",
    "original_of",
    "page_of",
    "prepare",
    "prepare_confirmation",
    "prepare_pairs",
    "probe",
    "proof_dict",
    "prune",
    "publish",
    "recorded_areas",
    "recorded_confirmation",
    "refine_mechanically",
    "refine_with",
    "require_measurable_budget",
    "roll_out",
    "try_pairs",
    "with_measured_cost",
]
