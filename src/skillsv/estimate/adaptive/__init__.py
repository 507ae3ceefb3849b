"""Values from adaptive runs: one estimator for agents that repeat their answers, one for noisy agents."""

from skillsv.estimate.adaptive.estimate import (
    AVERAGED_ORDERS,
    AdaptiveValues,
    build_estimate,
    compute_values,
    count_averaged_orders,
    estimate_adaptive,
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
