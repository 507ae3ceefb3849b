"""Feasible orders of a compiled skill: drawn at random under the declared mu, or summed over exactly."""

from skillsv.order.exact import (
    COUNTED,
    LIMIT,
    ExactDesign,
    GameValues,
    TooWide,
    count_reachable,
    exact_design,
    exact_values,
    sampled_values,
    values_of,
)
from skillsv.order.sample import Sampler, check, probability

__all__ = [
    "COUNTED",
    "LIMIT",
    "ExactDesign",
    "GameValues",
    "Sampler",
    "TooWide",
    "check",
    "count_reachable",
    "exact_design",
    "exact_values",
    "probability",
    "sampled_values",
    "values_of",
]
