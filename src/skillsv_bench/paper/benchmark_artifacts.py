"""Tables and figures from the results of benchmark runs, `skillsv.bench/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillsv.extend.comparison import pooled_comparisons
from skillsv.extend.figures import area_chart, pruning_chart
from skillsv.model.edit import CurvePoint, PruningCurve
from skillsv.model.value import Interval
from skillsv_bench.agreement import pool_agreements
from skillsv_bench.figures import agreement_figure, concentration_figure
from skillsv_bench.paper.artifacts import Artifact, table_of
from skillsv_bench.results import Results
from skillsv_bench.tables import (
    Table,
    agreement_table,
    anchors_table,
    closure_table,
    concentration_table,
    pooled_figure,
    pooled_table,
    pruning_table,
    refinement_table,
    second_metric_table,
    selected_table,
    selection_table,
    units_table,
)

LEVEL = 0.95
"""Confidence level of pooled intervals."""

_NOTE = "On tasks that no value has seen, with 95 % intervals."
"""The note under figures of scores on panel B."""

_DRAWINGS = {
    "methods": "values of units by method",
    "sections": "value tree",
    "decision-map": "content value and context cost",
}
"""What the drawings of a benchmark run show, by their file names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundResult:
    """The result of one benchmark and the folder of its `results.json`."""

    folder: Path
    results: Results

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return str(self.results["benchmark"])

    @property
    def source(self) -> str:
        """What made it, for the index."""
        return f"`{self.folder}` (agent {self.results['agent']}, split {self.results.get('split', 'test')})"


def benchmark_artifacts(found: Sequence[FoundResult]) -> tuple[Artifact, ...]:
    """Every table and figure that these results have rows for."""
    if not found:
        return ()
    all_results = [result.results for result in found]
    source = ", ".join(result.source for result in found)
    made = (*_tables(all_results), *_areas(all_results), *_concentration(all_results), *_agreement(all_results))
    shared = [replace(artifact, source=source) for artifact in made]
    single = [artifact for result in found for artifact in _single(result)]
    return (*shared, *single)


def _tables(all_results: Sequence[Results]) -> list[Artifact]:
    makers = (
        ("table-1-anchors", "Table 1", anchors_table),
        ("table-2-closure", "Table 2", closure_table),
        ("table-3-refinement", "Table 3", refinement_table),
        ("table-6-second-metrics", "Table 6, reported metrics", second_metric_table),
        ("appendix-selection", "Appendix, skill selection", selection_table),
        ("appendix-selected", "Appendix, skill selection", selected_table),
    )
    tables = ((name, place, make(all_results)) for name, place, make in makers)
    differences = {"table-1-anchors": ("The interval of the total lift comes from those of both anchors.",)}
    return [
        _artifact(name, place, table, differences=differences.get(name, ()))
        for name, place, table in tables
        if table.rows
    ]


def _artifact(
    name: str, place: str, table: Table, *, svg: str | None = None, differences: tuple[str, ...] = (), source: str = ""
) -> Artifact:
    named = replace(table, name=name)
    return Artifact(
        name=name, place=place, title=table.title, source=source, table=named, svg=svg, differences=differences
    )


def _areas(all_results: Sequence[Results]) -> list[Artifact]:
    rows = [
        (f"{result['title']}: {curve['method']}", _interval(curve["auc"]))
        for result in all_results
        for curve in result["held_out"]["curves"]
    ]
    if not rows:
        return []
    chart = area_chart(rows, title="Area under the pruning curve", note=_NOTE)
    made = [_artifact("figure-5-areas", "Figure 5", pruning_table(all_results), svg=str(chart.svg))]
    areas = [result["held_out"].get("areas") or {} for result in all_results]
    if len(areas) > 1 and all(areas):
        pairs = pooled_comparisons(areas, level=LEVEL)
        table = pooled_table(pairs, len(areas))
        svg = str(pooled_figure(pairs, len(areas)).svg)
        made.append(_artifact("figure-5-pooled", "Figure 5", table, svg=svg))
    return made


def _interval(value: Mapping[str, float]) -> Interval:
    return Interval(value["value"], value["low"], value["high"])


def _concentration(all_results: Sequence[Results]) -> list[Artifact]:
    svg = str(concentration_figure(all_results).svg)
    difference = "Only positive values count; the paper does not say how it treats negative ones."
    table = concentration_table(all_results)
    return [_artifact("figure-7-concentration", "Figure 7a", table, svg=svg, differences=(difference,))]


def _agreement(all_results: Sequence[Results]) -> list[Artifact]:
    pairs = pool_agreements(all_results)
    if not pairs:
        return []
    svg = str(agreement_figure(pairs).svg)
    return [_artifact("figure-8-agreement", "Figure 8", agreement_table(all_results), svg=svg)]


def _single(found: FoundResult) -> list[Artifact]:
    """The figures of one benchmark: curves, unit values, decision map, value tree."""
    result, source = found.results, found.source
    made = []
    curves = [_curve(curve) for curve in result["held_out"]["curves"]]
    if curves:
        anchors = result["held_out"].get("anchors") or {}
        levels = {name: _interval(anchors[name]) for name in ("full", "trigger") if anchors.get(name)}
        chart = pruning_chart(curves, full=levels.get("full"), trigger=levels.get("trigger"))
        points = ("score", "low", "high", "area under the curve")
        table = table_of(chart, points=points, title=f"{result['title']}: pruning curves")
        made.append(_artifact(f"figure-6-pruning-{found.name}", "Figure 6", table, svg=str(chart.svg), source=source))
    drawings = [("figure-7-units", "Figure 7b", "methods"), ("figure-11-value-tree", "Figure 11", "sections")]
    if any(unit["content"] for unit in result["valuation"]["units"]):
        drawings.append(("figure-9-decision-map", "Figure 9", "decision-map"))
    for name, place, drawing in drawings:
        table = replace(units_table(result), title=f"{result['title']}: {_DRAWINGS[drawing]}")
        made.append(_stored(f"{name}-{found.name}", place, table, found, drawing))
    return made


def _curve(curve: Mapping[str, Any]) -> PruningCurve:
    points = tuple(
        CurvePoint(
            share_removed=point["share_removed"], tokens_left=point["tokens_left"], score=_interval(point["score"])
        )
        for point in curve["points"]
    )
    return PruningCurve(method=curve["method"], points=points, auc=_interval(curve["auc"]))


def _stored(name: str, place: str, table: Table, found: FoundResult, drawing: str) -> Artifact:
    """A table of the result, with the drawing that the benchmark run left beside it."""
    file = found.folder / f"{drawing}.svg"
    svg = file.read_text(encoding="utf-8") if file.is_file() else None
    lost = (
        () if svg is not None else (f"The drawing {file.name} is not beside the results: the numbers alone are here.",)
    )
    return _artifact(name, place, table, svg=svg, differences=lost, source=found.source)
