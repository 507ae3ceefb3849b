"""Adaptive policies: rollouts go where they say most about units whose value is still open."""

from skillsv.rollout.adaptive.forecast import Advice, advise, forecast_adaptive, least_budget
from skillsv.rollout.adaptive.problem import FINISHED, AdaptiveOptions, AdaptiveProblem, AdaptiveRecord
from skillsv.rollout.adaptive.stop import Budget, Never, Standing, StopRule, UntilResolved, UntilWidth
from skillsv.rollout.adaptive.walk import adaptive_walk

__all__ = [
    "FINISHED",
    "AdaptiveOptions",
    "AdaptiveProblem",
    "AdaptiveRecord",
    "Advice",
    "Budget",
    "Never",
    "Standing",
    "StopRule",
    "UntilResolved",
    "UntilWidth",
    "adaptive_walk",
    "advise",
    "forecast_adaptive",
    "least_budget",
]
