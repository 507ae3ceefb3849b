"""Rollouts: which come next, running them within limits, and storing them. Only this package spends money."""

from skillsv.rollout.chain_policy import Policy, chain_policy, panel_anchor_policy
from skillsv.rollout.checks import Activation, anchor, check_activation
from skillsv.rollout.engine import Engine, Job, LocalEngine
from skillsv.rollout.forecast import Forecast, PerRollout, forecast
from skillsv.rollout.ledger import Ledger
from skillsv.rollout.noise_check import check_noise
from skillsv.rollout.run_control import RunnerOptions, Stop, Timing, read_stop_files, stop_on_file, stop_on_signals
from skillsv.rollout.run_folder import RunFolder, Status, run_id
from skillsv.rollout.runner import Render, Runner
from skillsv.rollout.stop_rules import budget

__all__ = [
    "Activation",
    "Engine",
    "Forecast",
    "Job",
    "Ledger",
    "LocalEngine",
    "PerRollout",
    "Policy",
    "Render",
    "RunFolder",
    "Runner",
    "RunnerOptions",
    "Status",
    "Stop",
    "Timing",
    "anchor",
    "budget",
    "chain_policy",
    "check_activation",
    "check_noise",
    "forecast",
    "panel_anchor_policy",
    "read_stop_files",
    "run_id",
    "stop_on_file",
    "stop_on_signals",
]
