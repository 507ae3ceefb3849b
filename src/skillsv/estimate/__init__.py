"""From finished records to values with intervals. Pure functions: the same records and options give the same answer."""

from skillsv.estimate.chains import EstimateOptions, estimate_chains

__all__ = ["EstimateOptions", "estimate_chains"]
