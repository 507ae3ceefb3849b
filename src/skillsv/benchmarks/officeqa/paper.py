"""The paper's setting for this benchmark: the one where both operators are run."""

from skillsv.benchmarks.benchmark import Paper
from skillsv.model.coalition import Operator

PAPER = Paper(
    tasks={"train": 50, "val": 24, "test": 172},
    panel_a=86,
    panel_b=86,
    turns=24,
    operators=(Operator.DELETE, Operator.PAD),
)
