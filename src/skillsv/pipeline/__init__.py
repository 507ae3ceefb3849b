"""From a skill folder to an answer, in the order of the paper's figure. The only place where stages meet.

job              compile the skill, read the tasks, draw orders and windows, forecast the cost   free
valuation        render coalitions, run the agent, keep every rollout in the ledger              spends
build_valuation  values, intervals and verdicts from the records                                 free
run              a run read from its folder, or reopened for more rollouts                       free
publish          valuation.json and report.html in the run folder                                free
stored_values    what a run has published, read without estimating again                         free
edit             a shorter skill, from the values                                                free
refine           a rewritten skill: by an editor, checked, or with redundant units merged        free
shrink           a shorter skill and its proof from one budget (shrink_plan, _choice, _proof)     spends
check            base version against new, in pairs, for `skillsv check`                          spends
confirm          old against new and pruning curves, on panel B (rankings: what curves compare)  spends
interactions     tests of redundant and complementary pairs                                      spends
renderings       scores of whole versions of a skill, on any tasks                               spends

The others serve these: clients (makes agents), evidence and run_facts (what the report shows), cost,
session (opens ledger, engine and runner), smoke_gate, probe.
"""

from skillsv.pipeline.build_valuation import RolloutResult, build_valuation
from skillsv.pipeline.confirm import (
    ConfirmJob,
    PreparedConfirmation,
    confirm_versions,
    keep_proof,
    prepare_confirmation,
    proof_dict,
    recorded_areas,
)
from skillsv.pipeline.cost import measured_cost, measured_gamma, require_measurable_budget, with_measured_cost
from skillsv.pipeline.edit import PrunedSkill, find_original, original_path, prune
from skillsv.pipeline.interactions import PairsJob, prepare_pairs, run_pair_tests
from skillsv.pipeline.job import PreparedRun, ValuationJob, forecast_job, prepare
from skillsv.pipeline.probe import probe
from skillsv.pipeline.publish import publish, recorded_confirmation, render_page
from skillsv.pipeline.refine import Revision, refine_by, refine_mechanically, refine_with
from skillsv.pipeline.renderings import score_renderings
from skillsv.pipeline.run import Run, RunOverrides, build_run, load_run, read_manifest
from skillsv.pipeline.valuation import run_rollouts

__all__ = [
    "ConfirmJob",
    "PairsJob",
    "PreparedConfirmation",
    "PreparedRun",
    "PrunedSkill",
    "Revision",
    "RolloutResult",
    "Run",
    "RunOverrides",
    "ValuationJob",
    "build_run",
    "build_valuation",
    "confirm_versions",
    "find_original",
    "forecast_job",
    "keep_proof",
    "load_run",
    "measured_cost",
    "measured_gamma",
    "original_path",
    "prepare",
    "prepare_confirmation",
    "prepare_pairs",
    "probe",
    "proof_dict",
    "prune",
    "publish",
    "read_manifest",
    "recorded_areas",
    "recorded_confirmation",
    "refine_by",
    "refine_mechanically",
    "refine_with",
    "render_page",
    "require_measurable_budget",
    "run_pair_tests",
    "run_rollouts",
    "score_renderings",
    "with_measured_cost",
]
