"""The paper's setting for ALFWorld, and where its data come from."""

from __future__ import annotations

from skillsv.benchmarks.benchmark import Paper

STEPS = 50
"""Actions of one episode; a game that is not won by then is lost."""

PAPER = Paper(tasks={"train": 39, "val": 18, "test": 134}, panel_a=60, panel_b=64, turns=STEPS)

COMES_FROM = (
    "ALFWorld's games come with its package: `pip install alfworld`, then `alfworld-download --data-dir DIR` "
    "(github.com/alfworld/alfworld); give that DIR, which holds json_2.1.1."
)
