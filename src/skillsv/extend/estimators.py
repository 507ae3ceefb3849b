"""Study estimators: the parts of an estimate, to put them together in another way or to replace one.

Compile a skill with other rules, sample orders, run a policy on a game with known values, estimate from its records,
and compare with exact values. The planted agent is such a game: a formula of the marks in the text that it reads.
"""

from skillsv.agents.planted import MARK, SOLVED, PlantedAgent, Sight, make_planted, planted_logit, read_marks
from skillsv.compiler import CompileOptions, compile_files
from skillsv.compiler.rules import RULES, TRIGGER_RULE
from skillsv.estimate import EstimateOptions, TruncationAudit, compare_with_control, estimate_chains, ranking_of
from skillsv.estimate.adaptive import AVERAGED_ORDERS, compute_values, estimate_adaptive
from skillsv.estimate.adaptive.deciding_pairs import find_steady_scores
from skillsv.order import Sampler, exact_design, exact_values
from skillsv.rendering import Renderer
from skillsv.rollout.adaptive import (
    AdaptiveOptions,
    AdaptiveProblem,
    AdaptiveRecord,
    MaxRollouts,
    adaptive_policy,
    forecast_adaptive,
)
from skillsv.rollout.chain_policy import Policy, chain_policy, panel_anchor_policy, within
from skillsv.tasks.panels import draw_window

__all__ = [
    "AVERAGED_ORDERS",
    "MARK",
    "RULES",
    "SOLVED",
    "TRIGGER_RULE",
    "AdaptiveOptions",
    "AdaptiveProblem",
    "AdaptiveRecord",
    "CompileOptions",
    "EstimateOptions",
    "MaxRollouts",
    "PlantedAgent",
    "Policy",
    "Renderer",
    "Sampler",
    "Sight",
    "TruncationAudit",
    "adaptive_policy",
    "chain_policy",
    "compare_with_control",
    "compile_files",
    "compute_values",
    "draw_window",
    "estimate_adaptive",
    "estimate_chains",
    "exact_design",
    "exact_values",
    "find_steady_scores",
    "forecast_adaptive",
    "make_planted",
    "panel_anchor_policy",
    "planted_logit",
    "ranking_of",
    "read_marks",
    "within",
]
