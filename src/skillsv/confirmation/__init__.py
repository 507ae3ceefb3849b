"""The proof on tasks that no value was estimated on. Panel B is scored only here.

scoring     all versions on the whole of panel B      agreement          Kendall's tau-b, permutations, Holm
gate        "no worse than 2 points", intervals       baselines          Closure-LOO, LLM judge, chance
curves      pruning curves and the area under them    interaction_tests  pairs of units, on panel A
proof       all of it from one table of scores        compare            two runs, unit by unit
power       how likely a proof succeeds               paired_proof       old against new in pairs, for `shrink`
                                                      sequential_proof   the same with looks, for `check`
"""

from skillsv.confirmation.agreement import Agreement, holm
from skillsv.confirmation.curves import (
    Checkpoints,
    Comparison,
    areas,
    choose_checkpoints,
    comparisons,
    curve,
    pooled_comparisons,
)
from skillsv.confirmation.gate import Gate, interval, intervals, lower_bound, pooled, smallest_drop
from skillsv.confirmation.proof import Proof, Versions, prove
from skillsv.confirmation.scoring import PanelScores, score_on_panel

__all__ = [
    "Agreement",
    "Checkpoints",
    "Comparison",
    "Gate",
    "PanelScores",
    "Proof",
    "Versions",
    "areas",
    "choose_checkpoints",
    "comparisons",
    "curve",
    "holm",
    "interval",
    "intervals",
    "lower_bound",
    "pooled",
    "pooled_comparisons",
    "prove",
    "score_on_panel",
    "smallest_drop",
]
