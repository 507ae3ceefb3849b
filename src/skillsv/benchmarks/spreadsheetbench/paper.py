"""The paper's setting for this benchmark."""

from skillsv.benchmarks.benchmark import Paper

PAPER = Paper(tasks={"train": 80, "val": 40, "test": 280}, panel_a=80, panel_b=140, turns=30)
