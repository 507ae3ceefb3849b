"""The results of a benchmark run as one JSON document, `skillsv.bench/1`. The same results give the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from skillsv.errors import RecordsError
from skillsv.extend.comparison import difference
from skillsv.extend.runs import finite, interval_dict, json_value, proof_dict
from skillsv.extend.settings import RESULT_SETTINGS
from skillsv.model.concentration import concentration
from skillsv.model.valuation_document import IntervalDocument, ValuationDocument
from skillsv.model.value import Ranking
from skillsv_bench.protocol import BenchmarkResult, BenchmarkRun
from skillsv_bench.refinement import RefinementResult
from skillsv_bench.results_document import (
    ConfirmedSelectionDocument,
    LooClosureDocument,
    RefinementDocument,
    ResultsDocument,
    SecondMetricDocument,
    SecondScoreDocument,
    SelectionDocument,
    ValuesDocument,
    VersionDocument,
)
from skillsv_bench.selection import Selection, SelectionResult

SCHEMA: Literal["skillsv.bench/1"] = "skillsv.bench/1"
"""The name and version of the document's format."""

FILE = "results.json"
"""The document's file name in the results folder."""

Results = dict[str, Any]
"""A document that was read from a file: an earlier version may have written it."""


def build_results(benchmark_run: BenchmarkRun, result: BenchmarkResult, notes: tuple[str, ...]) -> ResultsDocument:
    """Collect all that tables, figures and pooling need. Nothing in it depends on the clock or on the machine."""
    valuation = result.run.valuation
    valuation_json = valuation.to_dict()
    anchors = valuation.estimate.anchors
    return {
        "schema": SCHEMA,
        "benchmark": benchmark_run.benchmark.name,
        "title": benchmark_run.benchmark.title,
        "split": benchmark_run.source.split,
        "rejected": [{"id": task.id, "why": task.why} for task in benchmark_run.loaded.rejected],
        "turns": benchmark_run.settings.turns,
        "skill": valuation_json["skill"],
        "agent": benchmark_run.agent,
        "settings": json_value({name: valuation_json["settings"][name] for name in RESULT_SETTINGS}),
        "panels": {"a": len(result.run.stored.manifest["panel_a"]), "b": result.proof.tasks},
        "valuation": _values_dict(valuation_json),
        "total_lift": interval_dict(difference(anchors.empty, anchors.full)),
        "closure_loo": _closure_loo_dict(result),
        "judge": None if result.judge is None else {"units": _ranking_dict(result.judge)},
        "held_out": proof_dict(result.proof.result),
        "concentration": concentration({unit.id: unit.value.net_or_zero.value for unit in valuation.units}),
        "skill_selection": None if result.skill_selection is None else _selection_dict(result.skill_selection),
        "selection": None if result.selected is None else _selected_dict(result.selected),
        "refinement": None if result.refined is None else _refinement_dict(result.refined),
        "second_metric": _second_metric_dict(benchmark_run, result),
        "notes": [*notes, *valuation_json["notes"], *result.proof.notes],
    }


def _values_dict(valuation: ValuationDocument) -> ValuesDocument:
    """The part of the valuation's JSON that the document repeats."""
    return {
        "anchors": valuation["anchors"],
        "trigger_value": valuation["trigger_value"],
        "content_lift": valuation["content_lift"],
        "closure": valuation["closure"],
        "units": valuation["units"],
        "sections": valuation["sections"],
        "chains": valuation["chains"],
        "truncation_share": valuation["truncation_share"],
        "missing": valuation["missing"],
    }


def _closure_loo_dict(result: BenchmarkResult) -> LooClosureDocument:
    lift, total = result.run.valuation.estimate.content_lift.value, result.loo_total
    return {
        "sum": interval_dict(total),
        "ratio": finite(total.value / lift) if lift else None,
        "covered": total.covers(lift),
        "tasks": result.loo_tasks,
        "units": _ranking_dict(result.loo),
    }


def _ranking_dict(ranking: Ranking) -> dict[str, IntervalDocument]:
    return {unit: interval_dict(value) for unit, value in ranking.values.items()}


def _refinement_dict(refined: RefinementResult) -> RefinementDocument:
    return {
        "tokens_before": refined.tokens_before,
        "tokens_after": refined.tokens_after,
        "confirmation": proof_dict(refined.proof.result),
    }


def _selection_dict(selection: Selection) -> SelectionDocument:
    """The scores of all versions on the validation split, and the chosen version."""
    versions: list[VersionDocument] = [
        {"name": version.name, "tokens": version.tokens, "score": interval_dict(version.score)}
        for version in selection.versions
    ]
    return {"tasks": selection.tasks, "versions": versions, "chosen": selection.chosen}


def _selected_dict(selected: SelectionResult) -> ConfirmedSelectionDocument:
    confirmed = selected.confirmed
    confirmation = None if confirmed is None else proof_dict(confirmed.proof.result)
    return {**_selection_dict(selected.selection), "confirmation": confirmation}


def _second_metric_dict(benchmark_run: BenchmarkRun, result: BenchmarkResult) -> SecondMetricDocument | None:
    """The second metric by panel and version; None where the benchmark has none."""
    metric = benchmark_run.benchmark.second_metric
    if metric is None:
        return None
    rows: list[SecondScoreDocument] = [
        {
            "panel": row.panel,
            "version": row.version,
            "second": interval_dict(row.second),
            "score": row.score,
            "tasks": row.tasks,
        }
        for row in result.second
    ]
    return {"name": metric.name, "title": metric.title, "scores": rows}


def read_results(place: Path) -> Results:
    """Read results from a file, a results folder, or a run folder that contains one."""
    candidates = (place, place / FILE, place / "results" / FILE)
    file = next((candidate for candidate in candidates if candidate.is_file()), None)
    if file is None:
        raise RecordsError("holds no results of a benchmark.", where=str(place), hint="Run 'skillsv bench NAME' first.")
    try:
        results: Results = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise RecordsError(f"cannot be read: {error}.", where=str(file)) from error
    if results.get("schema") != SCHEMA:
        raise RecordsError(f"is not a document of the schema {SCHEMA}.", where=str(file))
    return results
