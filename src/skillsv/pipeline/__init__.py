"""From a skill folder to an answer, in the order of the paper's figure. The only place where stages meet.

prepare    compile the skill, read the tasks, draw orders and windows, forecast the cost     free
roll_out   render partial skills, run the agent, keep every rollout in the ledger            spends
appraise   values, intervals, verdicts from the records                                      free
run        valuation.json and report.html in the run folder; reading a run again             free
edit       a shorter skill, from the values                                                  free
"""

from skillsv.pipeline.appraise import appraise
from skillsv.pipeline.edit import REMOVABLE, Pruned, original_of, prune
from skillsv.pipeline.prepare import Prepared, ValuationJob, forecast_of, prepare
from skillsv.pipeline.probe import probe
from skillsv.pipeline.roll_out import Rolled, roll_out
from skillsv.pipeline.run import Run, load_run, publish

__all__ = [
    "REMOVABLE",
    "Prepared",
    "Pruned",
    "Rolled",
    "Run",
    "ValuationJob",
    "appraise",
    "forecast_of",
    "load_run",
    "original_of",
    "prepare",
    "probe",
    "prune",
    "publish",
    "roll_out",
]
