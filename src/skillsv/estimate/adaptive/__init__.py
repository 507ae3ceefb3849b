"""Values from adaptive runs: two estimators, pure functions of the observations."""

from skillsv.estimate.adaptive.estimate import ORDERS, Valued, assemble, estimate_adaptive, value_all

__all__ = ["ORDERS", "Valued", "assemble", "estimate_adaptive", "value_all"]
