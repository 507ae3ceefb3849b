"""From finished records to values with intervals. Pure functions: the same records and options give the same answer."""

from skillsv.estimate.chains import EstimateOptions, estimate_chains
from skillsv.estimate.control import TruncationAudit, compare_with_control
from skillsv.estimate.ranking import ranking_of

__all__ = [
    "EstimateOptions",
    "TruncationAudit",
    "compare_with_control",
    "estimate_chains",
    "ranking_of",
]
