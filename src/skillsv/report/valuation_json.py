"""The valuation as JSON, schema `skillsv.valuation/1`: what `skillsv value --json` prints.

Amounts of score are shares in [0, 1] (values and costs in [-1, 1]), never points.

`units[].net` is `{value, low, high}`: the interval is about tasks like these. `units[].net_panel` has the same value
and an interval about the tasks of the panel alone. For a unit that no rollout has separated from the others `value` is
null, `low` and `high` are the range that the value must lie in, and the verdict is `unresolved`; the first note then
says how much of the lift the values explain and names the next budget. `sections[].net` is null in the same way where
none of the section's units has a value. `provisional` is true while the run is not finished.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Literal

from skillsv.model.edit import Confirmation
from skillsv.model.rollout import Usage
from skillsv.model.valuation_document import (
    AnchorsDocument,
    ChainCostDocument,
    ClosureDocument,
    IntervalDocument,
    ProofSummaryDocument,
    ReachedDocument,
    RolloutsDocument,
    UnitDocument,
    UsageDocument,
    ValuationDocument,
)
from skillsv.model.value import Anchors, ChainCost, Closure, Interval, ReachedFiles, Spending, UnitReport, Valuation
from skillsv.report.sentences import all_notes, early_sentence, proof_sentence

SCHEMA: Literal["skillsv.valuation/1"] = "skillsv.valuation/1"
"""The schema of the valuation."""


def valuation_dict(valuation: Valuation, confirmation: Confirmation | None = None) -> ValuationDocument:
    """The whole valuation as JSON values, after the last proof. A number that is not finite becomes null, never NaN."""
    estimate = valuation.estimate
    return {
        "schema": SCHEMA,
        "proof": None if confirmation is None else _proof(confirmation),
        "skill": json_value(valuation.skill),
        "settings": json_value(valuation.settings),
        "method": estimate.method,
        "provisional": valuation.provisional,
        "anchors": anchors_dict(estimate.anchors),
        "trigger_value": interval_dict(estimate.trigger_value),
        "content_lift": interval_dict(estimate.content_lift),
        "closure": _closure(estimate.closure),
        "units": [_unit(unit) for unit in valuation.units],
        "sections": [{"path": list(section.path), "net": interval_dict(section.net)} for section in estimate.sections],
        "chains": estimate.chains,
        "truncation_share": finite(estimate.truncation_share),
        "chain_cost": _chain_cost(valuation.chain_cost),
        "full_digests": dict(valuation.full_digests),
        "resolution": finite(estimate.resolution),
        "missing": estimate.missing,
        "rollouts": rollouts_dict(valuation.rollouts),
        "usage": usage_dict(valuation.usage),
        "notes": [note for note in (early_sentence(valuation), *all_notes(valuation)) if note],
    }


def rollouts_dict(rollouts: Spending) -> RolloutsDocument:
    """Numbers of rollouts as JSON values."""
    return {
        "spent": rollouts.spent,
        "reused": rollouts.reused,
        "failed": rollouts.failed,
        "cut": rollouts.cut,
        "forecast": rollouts.forecast,
    }


def usage_dict(usage: Usage) -> UsageDocument:
    """Tokens and money as JSON values."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "usd": finite(usage.usd),
    }


def json_value(value: Any) -> Any:
    """The value in JSON's own types: paths as text, sets as sorted lists, NaN and infinity as null."""
    match value:
        case bool() | int() | None:
            plain: Any = value
        case float():
            plain = float(value) if math.isfinite(value) else None
        case Mapping():
            plain = {str(key): json_value(item) for key, item in value.items()}
        case set() | frozenset():
            plain = sorted((json_value(item) for item in value), key=str)
        case list() | tuple():
            plain = [json_value(item) for item in value]
        case PurePath():
            plain = value.as_posix()
        case _:
            plain = str(value)
    return plain


def finite(number: float | None) -> float | None:
    """The number, or None where it is not finite."""
    return None if number is None or not math.isfinite(number) else float(number)


def interval_dict(interval: Interval) -> IntervalDocument:
    """An interval as JSON values."""
    return {"value": finite(interval.value), "low": finite(interval.low), "high": finite(interval.high)}


def _optional_interval(interval: Interval | None) -> IntervalDocument | None:
    return None if interval is None else interval_dict(interval)


def anchors_dict(anchors: Anchors) -> AnchorsDocument:
    """The anchors as JSON values."""
    return {
        "empty": interval_dict(anchors.empty),
        "trigger": interval_dict(anchors.trigger),
        "full": interval_dict(anchors.full),
    }


def _chain_cost(cost: ChainCost | None) -> ChainCostDocument | None:
    if cost is None:
        return None
    return {
        "gamma": cost.gamma,
        "rollouts": cost.rollouts,
        "full_rollouts": cost.full_rollouts,
        "ratio": finite(cost.ratio),
    }


def _closure(closure: Closure) -> ClosureDocument:
    return {
        "sum": interval_dict(closure.sum),
        "lift": interval_dict(closure.lift),
        "ratio": finite(closure.ratio),
        "covered": closure.covered,
    }


def _unit(unit: UnitReport) -> UnitDocument:
    value = unit.value
    return {
        "id": unit.id,
        "kind": str(unit.kind),
        "form": unit.form,
        "file": unit.file,
        "span": [unit.span.start, unit.span.end],
        "lines": [unit.lines.first, unit.lines.last],
        "section": list(unit.section),
        "tokens": unit.tokens,
        "needs": list(unit.needs),
        "content": _optional_interval(value.content),
        "cost": _optional_interval(value.cost),
        "net": interval_dict(value.net),
        "net_panel": interval_dict(value.on_panel),
        "plain": _optional_interval(value.plain),
        "standard_error": finite(value.standard_error),
        "evidence": value.evidence.value,
        "samples": value.samples,
        "verdict": unit.verdict.action.value,
        "reason": unit.verdict.reason,
        "text": unit.text,
        "reaches": _reaches(unit.reaches),
    }


def _reaches(reached: ReachedFiles | None) -> ReachedDocument | None:
    if reached is None:
        return None
    return {"files": list(reached.files), "units": list(reached.units), "net": finite(reached.net)}


def _proof(confirmation: Confirmation) -> ProofSummaryDocument:
    return {
        "outcome": confirmation.outcome.value,
        "sentence": proof_sentence(confirmation),
        "tasks": confirmation.tasks,
        "old": finite(confirmation.old.value),
        "new": finite(confirmation.new.value),
    }
