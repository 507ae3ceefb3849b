"""The adaptive policy: it requests the rollouts that say most about units whose value is still undecided."""

from skillsv.rollout.adaptive.policy import adaptive_policy
from skillsv.rollout.adaptive.problem import (
    FINISHED,
    AdaptiveOptions,
    AdaptiveProblem,
    AdaptiveRecord,
    choose_live_searches,
    choose_round_size,
)
from skillsv.rollout.forecast import Advice, advise, forecast_adaptive, least_budget
from skillsv.rollout.stop_rules import EstimateStatus, MaxRollouts, Never, StopRule, UntilResolved, UntilWidth

__all__ = [
    "FINISHED",
    "AdaptiveOptions",
    "AdaptiveProblem",
    "AdaptiveRecord",
    "Advice",
    "EstimateStatus",
    "MaxRollouts",
    "Never",
    "StopRule",
    "UntilResolved",
    "UntilWidth",
    "adaptive_policy",
    "advise",
    "choose_live_searches",
    "choose_round_size",
    "forecast_adaptive",
    "least_budget",
]
