"""The proof on tasks no value has seen: old against new, pruning curves, pairs, agreement. Panel B is scored here only.

scoring     every version on the whole of panel B        bootstrap   intervals of means over tasks
gate        "no worse than 2 points": shown or not       curves      pruning curves and the area under them
proof       all of it from one table of scores           agreement   Kendall's tau-b, permutations, Holm
"""

from skillsv.confirm.agreement import Agreement, agreements, concentration, holm, kendall_tau_b, permutation_p
from skillsv.confirm.curves import Comparison, Track, areas, comparisons, curve, pooled_comparisons, track
from skillsv.confirm.gate import Gate, interval, intervals, pooled, smallest_drop, worst_case
from skillsv.confirm.proof import Proof, Versions, prove
from skillsv.confirm.scoring import HeldOut, score_on_panel

__all__ = [
    "Agreement",
    "Comparison",
    "Gate",
    "HeldOut",
    "Proof",
    "Track",
    "Versions",
    "agreements",
    "areas",
    "comparisons",
    "concentration",
    "curve",
    "holm",
    "interval",
    "intervals",
    "kendall_tau_b",
    "permutation_p",
    "pooled",
    "pooled_comparisons",
    "prove",
    "score_on_panel",
    "smallest_drop",
    "track",
    "worst_case",
]
