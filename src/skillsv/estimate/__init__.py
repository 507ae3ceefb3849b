"""From finished records to values with intervals. Pure functions: the same records and options give the same result."""

from skillsv.estimate.chain import EstimateOptions, estimate_chains, evaluated_share, ranking_of
from skillsv.estimate.truncation import TruncationAudit, compare_with_control

__all__ = [
    "EstimateOptions",
    "TruncationAudit",
    "compare_with_control",
    "estimate_chains",
    "evaluated_share",
    "ranking_of",
]
