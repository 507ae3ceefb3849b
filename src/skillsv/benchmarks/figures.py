"""The paper's figures of one benchmark, and of several pooled."""

from __future__ import annotations

from collections.abc import Sequence

from skillsv.benchmarks.protocol import Tried
from skillsv.confirm import Comparison
from skillsv.report.figures import (
    Figure,
    anchor_chart,
    area_chart,
    decision_map,
    pruning_chart,
    value_chart,
    value_tree,
)

_ON_B = "On tasks that no value has seen, with 95 % intervals."


def figures(tried: Tried) -> tuple[Figure, ...]:
    """Anchors, values, value tree, decision map (both operators), pruning curves and the areas under them."""
    valuation, proof = tried.run.valuation, tried.proof
    split = decision_map(valuation)
    curves = proof.confirmation.curves
    return (
        anchor_chart(valuation),
        value_chart(valuation),
        value_tree(valuation),
        *((split,) if split is not None else ()),
        pruning_chart(curves, full=proof.anchors.full, trigger=proof.anchors.trigger),
        area_chart([(curve.method, curve.auc) for curve in curves], title="Area under the pruning curve", note=_ON_B),
    )


def pooled_figure(found: Sequence[Comparison], skills: int) -> Figure:
    """The differences between methods, pooled."""
    rows = [(f"{each.first} − {each.second}", each.difference) for each in found]
    title = f"Differences of areas over {skills} skills"
    return area_chart(rows, name="pooled", title=title, note=_ON_B, signed=True)
