"""Values from adaptive runs: one estimator for agents that repeat their answers, one for noisy agents."""

from skillsv.estimate.adaptive.estimate import build_estimate, estimate_adaptive
from skillsv.estimate.adaptive.operator_values import (
    AVERAGED_ORDERS,
    AdaptiveValues,
    compute_values,
    count_averaged_orders,
)
from skillsv.estimate.adaptive.prediction import make_predictor

__all__ = [
    "AVERAGED_ORDERS",
    "AdaptiveValues",
    "build_estimate",
    "compute_values",
    "count_averaged_orders",
    "estimate_adaptive",
    "make_predictor",
]
