"""Two runs side by side: values, cost, and the difference of the skills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillsv.confirmation.compare import side_by_side
from skillsv.model.coalition import Operator
from skillsv.model.format import usage_parts, with_bounds
from skillsv.pipeline.run import Run, load_run
from skillsv.report.edits import patch_lines
from skillsv.report.escape import escape_line, escape_text
from skillsv.report.line_names import LineNames

MOST_DIFF_LINES = 2_000
"""Lines of the difference of two skills that the page shows."""


def compare_runs(first: Path, second: Path) -> dict[str, Any]:
    """The second run against the first, in words and numbers for people. Costs nothing."""
    one, other = load_run(first), load_run(second)
    found = side_by_side(one.valuation, other.valuation)
    names = [LineNames(run.valuation.units, run.compiled.skill.main) for run in (one, other)]
    rows = []
    for unit in found.units:
        name = names[0].words(unit.before) if unit.before else names[1].words(unit.after or "")
        change = unit.change
        rows.append(
            {
                "unit": escape_line(name),
                "first": None if unit.net_before is None else with_bounds(unit.net_before),
                "second": None if unit.net_after is None else with_bounds(unit.net_after),
                "change": None if change is None else with_bounds(change),
                "real": change is not None and not change.low <= 0 <= change.high,
            }
        )
    diff = [escape_text(line.rstrip("\n")) for line in patch_lines(_files(one), _files(other))]
    return {
        "lift": [with_bounds(found.lift_before, signed=False), with_bounds(found.lift_after, signed=False)],
        "score_change": with_bounds(found.full_change),
        "tokens": [found.tokens_before, found.tokens_after],
        "cost": [_cost(one), _cost(other)],
        "units": rows,
        "diff": diff[:MOST_DIFF_LINES],
        "same_tasks": one.manifest["panel_a"] == other.manifest["panel_a"],
    }


def _files(run: Run) -> dict[str, bytes]:
    return dict(run.renderer.render(run.compiled.everything, Operator.DELETE).contents)


def _cost(run: Run) -> str:
    rollouts = run.valuation.rollouts
    return ", ".join([f"{rollouts.spent:,} rollouts", *usage_parts(run.valuation.usage)])
