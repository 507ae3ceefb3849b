"""The paper's setting for this benchmark."""

from skillsv.benchmarks.benchmark import Paper

PAPER = Paper(tasks={"train": 35, "val": 18, "test": 124}, panel_a=60, panel_b=62, turns=1)
