"""Feasible insertion orders of a compiled skill: random samples under the declared mu, and exact values."""

from skillsv.order.exact import (
    COUNT_LIMIT,
    LIMIT,
    ExactDesign,
    TooManyCoalitions,
    count_reachable,
    exact_design,
    exact_values,
)
from skillsv.order.sample import Sampler, check, probability

__all__ = [
    "COUNT_LIMIT",
    "LIMIT",
    "ExactDesign",
    "Sampler",
    "TooManyCoalitions",
    "check",
    "count_reachable",
    "exact_design",
    "exact_values",
    "probability",
]
