"""Compare methods: rankings of the baselines, pruning paths and the areas under their curves, paired tests, intervals.

The functions are those of `skillsv confirm`, so that a study and a confirmation of the same scores agree.
"""

from skillsv.confirmation import (
    Checkpoints,
    Comparison,
    PanelScores,
    areas,
    choose_checkpoints,
    holm,
    interval,
    intervals,
    pooled,
    pooled_comparisons,
)
from skillsv.confirmation.baselines import (
    closure_loo,
    closure_loo_requests,
    judge_ranking,
    judge_tasks,
    random_ranking,
    read_score,
)
from skillsv.confirmation.compare import difference
from skillsv.confirmation.gate import DRAWS, pooled_samples
from skillsv.decide import pruning_path
from skillsv.pipeline.rankings import RANDOM_ORDERS, count_loo_tasks

__all__ = [
    "DRAWS",
    "RANDOM_ORDERS",
    "Checkpoints",
    "Comparison",
    "PanelScores",
    "areas",
    "choose_checkpoints",
    "closure_loo",
    "closure_loo_requests",
    "count_loo_tasks",
    "difference",
    "holm",
    "interval",
    "intervals",
    "judge_ranking",
    "judge_tasks",
    "pooled",
    "pooled_comparisons",
    "pooled_samples",
    "pruning_path",
    "random_ranking",
    "read_score",
]
