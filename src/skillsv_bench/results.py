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


def results_of(trial: BenchmarkRun, tried: BenchmarkResult, notes: tuple[str, ...]) -> Results:
    """Everything that tables, figures and pooling need. Nothing in it depends on the clock or on the machine."""
    valuation = tried.run.valuation
    valued = valuation_dict(valuation)
    settings = settings_dict(tried.run.settings)
    anchors = valuation.estimate.anchors
    found: Results = json_value(
        {
            "schema": SCHEMA,
            "benchmark": trial.benchmark.name,
            "title": trial.benchmark.title,
            "split": trial.source.split,
            "turns": trial.settings.turns,
            "skill": valued["skill"],
            "agent": trial.agent,
            "settings": {name: settings[name] for name in RESULT_SETTINGS},
            "panels": {"a": len(tried.run.manifest["panel_a"]), "b": tried.proof.confirmation.tasks},
            "valuation": {name: valued[name] for name in _OF_VALUATION},
            "total_lift": interval_dict(difference(anchors.empty, anchors.full)),
            "closure_loo": _loo(tried),
            "held_out": proof_dict(tried.proof),
            "concentration": concentration({unit.id: unit.value.net.value for unit in valuation.units}),
            "refinement": None if tried.refined is None else _refinement(tried.refined),
            "notes": [*notes, *valued["notes"], *tried.proof.notes],
        }
    )
    return found


def interval_dict(interval: Interval) -> dict[str, float]:
    """An interval as JSON has it."""
    return {"value": interval.value, "low": interval.low, "high": interval.high}


def _loo(tried: BenchmarkResult) -> dict[str, Any]:
    lift, total = tried.run.valuation.estimate.content_lift.value, tried.loo_total
    return {
        "sum": interval_dict(total),
        "ratio": total.value / lift if lift else None,
        "covered": total.covers(lift),
        "tasks": tried.loo_tasks,
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
    except msgspec.DecodeError as trouble:
        raise RecordsError(f"cannot be read: {trouble}.", where=str(file)) from trouble
    if found.get("schema") != SCHEMA:
        raise RecordsError(f"is not a document of the schema {SCHEMA}.", where=str(file))
    return found
