"""Plan, run, reopen and confirm a run of a task source, with a listener and a budget of one's own.

`plan_job` and `run_plan` are the steps of `skillsv.value`, `prepare_confirmation` and `run_confirmation` those of
`skillsv.confirm`. `reopen` makes agent and verifier of a stored run again, so that more rollouts go through its ledger:
`leave_out` and `make_rankings` for the baselines, `score_renderings` for whole versions of a skill. `refine_by` asks an
editor for a new version. `progress` is the listener that shows a run on a terminal.
"""

from skillsv.api.plan import forecast_lines, plan_dict, plan_job
from skillsv.api.run import run_plan
from skillsv.api.run_place import default_folder
from skillsv.api.shorten import run_confirmation
from skillsv.pipeline import (
    ConfirmJob,
    PreparedRun,
    RunOverrides,
    ValuationJob,
    prepare_confirmation,
    proof_dict,
    refine_by,
    score_renderings,
)
from skillsv.pipeline.confirm import rollouts_to_confirm
from skillsv.pipeline.progress import progress
from skillsv.pipeline.rankings import leave_out, make_rankings
from skillsv.pipeline.run import ReopenedRun, reopen
from skillsv.report.valuation_json import finite, interval_dict, json_value
from skillsv.rollout import Forecast, Ledger, RunFolder, Stop
from skillsv.rollout.forecast import Cost

__all__ = [
    "ConfirmJob",
    "Cost",
    "Forecast",
    "Ledger",
    "PreparedRun",
    "ReopenedRun",
    "RunFolder",
    "RunOverrides",
    "Stop",
    "ValuationJob",
    "default_folder",
    "finite",
    "forecast_lines",
    "interval_dict",
    "json_value",
    "leave_out",
    "make_rankings",
    "plan_dict",
    "plan_job",
    "prepare_confirmation",
    "progress",
    "proof_dict",
    "refine_by",
    "reopen",
    "rollouts_to_confirm",
    "run_confirmation",
    "run_plan",
    "score_renderings",
]
