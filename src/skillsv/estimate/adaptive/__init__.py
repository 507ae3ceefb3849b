"""Values from adaptive runs: one estimator for agents that repeat their answers, one for noisy agents."""

from skillsv.estimate.adaptive.estimate import ORDERS, AdaptiveValues, assemble, estimate_adaptive, value_all

__all__ = ["ORDERS", "AdaptiveValues", "assemble", "estimate_adaptive", "value_all"]
