"""What the protocol found, as one JSON document: `skillsv.bench/1`. The same findings give the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from skillsv.confirm import concentration
from skillsv.confirm.compare import difference
from skillsv.errors import RecordsError
from skillsv.model.value import Interval
from skillsv.pipeline import proof_dict
from skillsv.report import valuation_dict
from skillsv.report.valuation_json import json_value
from skillsv.settings import RESULT_SETTINGS, settings_dict
from skillsv_bench.protocol import BenchmarkResult, BenchmarkRun, Refined

SCHEMA = "skillsv.bench/1"
FILE = "results.json"

Results = dict[str, Any]

_OF_VALUATION = (
    "anchors",
    "trigger_value",
    "content_lift",
    "closure",
    "units",
    "sections",
    "chains",
    "truncation_share",
    "missing",
)


def results_of(benchmark_run: BenchmarkRun, result: BenchmarkResult, notes: tuple[str, ...]) -> Results:
    """Everything that tables, figures and pooling need. Nothing in it depends on the clock or on the machine."""
    valuation = result.run.valuation
    valued = valuation_dict(valuation)
    settings = settings_dict(result.run.settings)
    anchors = valuation.estimate.anchors
    found: Results = json_value(
        {
            "schema": SCHEMA,
            "benchmark": benchmark_run.benchmark.name,
            "title": benchmark_run.benchmark.title,
            "split": benchmark_run.source.split,
            "turns": benchmark_run.settings.turns,
            "skill": valued["skill"],
            "agent": benchmark_run.agent,
            "settings": {name: settings[name] for name in RESULT_SETTINGS},
            "panels": {"a": len(result.run.manifest["panel_a"]), "b": result.proof.confirmation.tasks},
            "valuation": {name: valued[name] for name in _OF_VALUATION},
            "total_lift": interval_dict(difference(anchors.empty, anchors.full)),
            "closure_loo": _loo(result),
            "held_out": proof_dict(result.proof),
            "concentration": concentration({unit.id: unit.value.net.value for unit in valuation.units}),
            "refinement": None if result.refined is None else _refinement(result.refined),
            "notes": [*notes, *valued["notes"], *result.proof.notes],
        }
    )
    return found


def interval_dict(interval: Interval) -> dict[str, float]:
    """An interval as JSON has it."""
    return {"value": interval.value, "low": interval.low, "high": interval.high}


def _loo(result: BenchmarkResult) -> dict[str, Any]:
    lift, total = result.run.valuation.estimate.content_lift.value, result.loo_total
    return {
        "sum": interval_dict(total),
        "ratio": total.value / lift if lift else None,
        "covered": total.covers(lift),
        "tasks": result.loo_tasks,
    }


def _refinement(refined: Refined) -> dict[str, Any]:
    return {
        "tokens_before": refined.tokens_before,
        "tokens_after": refined.tokens_after,
        "confirmation": proof_dict(refined.proof),
    }


def read_results(place: Path) -> Results:
    """The results in a folder, or in the run folder that holds them, or in a file."""
    candidates = (place, place / FILE, place / "results" / FILE)
    file = next((candidate for candidate in candidates if candidate.is_file()), None)
    if file is None:
        raise RecordsError("holds no results of a benchmark.", where=str(place), hint="Run 'skillsv bench NAME' first.")
    try:
        found = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise RecordsError(f"cannot be read: {error}.", where=str(file)) from error
    if found.get("schema") != SCHEMA:
        raise RecordsError(f"is not a document of the schema {SCHEMA}.", where=str(file))
    return found
