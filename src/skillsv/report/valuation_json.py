"""The valuation as JSON, schema `skillsv.valuation/1`: what `skillsv value --json` prints.

Amounts of score are shares in [0, 1] (values and costs in [-1, 1]), never points.

`units[].net` is `{value, low, high}`. For a unit that no rollout has separated from the others `value` is null, `low`
and `high` are the range that the value must lie in, and the verdict is `unresolved`; the first note then says how much
of the lift the values explain and names the next budget. `sections[].net` is null in the same way where none of the
section's units has a value. `provisional` is true while the run is not finished.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from skillsv.model.value import Anchors, ChainCost, Closure, Interval, UnitReport, Valuation
from skillsv.report.sentences import all_notes, early_sentence

SCHEMA = "skillsv.valuation/1"


def valuation_dict(valuation: Valuation) -> dict[str, Any]:
    """The whole valuation as JSON values. A number that is not finite becomes null, never NaN."""
    estimate = valuation.estimate
    fields = {
        "schema": SCHEMA,
        "skill": valuation.skill,
        "settings": valuation.settings,
        "method": estimate.method,
        "provisional": valuation.provisional,
        "anchors": _anchors(estimate.anchors),
        "trigger_value": _interval(estimate.trigger_value),
        "content_lift": _interval(estimate.content_lift),
        "closure": _closure(estimate.closure),
        "units": [_unit(unit) for unit in valuation.units],
        "sections": [{"path": section.path, "net": _interval(section.net)} for section in estimate.sections],
        "chains": estimate.chains,
        "truncation_share": estimate.truncation_share,
        "chain_cost": _chain_cost(valuation.chain_cost),
        "full_digests": valuation.full_digests,
        "resolution": estimate.resolution,
        "missing": estimate.missing,
        "rollouts": {
            "spent": valuation.rollouts.spent,
            "reused": valuation.rollouts.reused,
            "failed": valuation.rollouts.failed,
            "cut": valuation.rollouts.cut,
            "forecast": valuation.rollouts.forecast,
        },
        "usage": {
            "input_tokens": valuation.usage.input_tokens,
            "output_tokens": valuation.usage.output_tokens,
            "usd": valuation.usage.usd,
        },
        "notes": tuple(filter(None, (early_sentence(valuation), *all_notes(valuation)))),
    }
    plain: dict[str, Any] = json_value(fields)
    return plain


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


def _interval(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {"value": interval.value, "low": interval.low, "high": interval.high}


def _chain_cost(cost: ChainCost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    return {
        "gamma": cost.gamma,
        "rollouts": cost.rollouts,
        "full_rollouts": cost.full_rollouts,
        "ratio": cost.ratio,
    }


def _anchors(anchors: Anchors) -> dict[str, Any]:
    return {
        "empty": _interval(anchors.empty),
        "trigger": _interval(anchors.trigger),
        "full": _interval(anchors.full),
    }


def _closure(closure: Closure) -> dict[str, Any]:
    return {
        "sum": _interval(closure.sum),
        "lift": _interval(closure.lift),
        "ratio": closure.ratio,
        "covered": closure.covered,
    }


def _unit(unit: UnitReport) -> dict[str, Any]:
    value = unit.value
    return {
        "id": unit.id,
        "kind": unit.kind,
        "form": unit.form,
        "file": unit.file,
        "span": (unit.span.start, unit.span.end),
        "lines": (unit.lines.first, unit.lines.last),
        "section": unit.section,
        "tokens": unit.tokens,
        "needs": unit.needs,
        "content": _interval(value.content),
        "cost": _interval(value.cost),
        "net": _interval(value.net),
        "plain": _interval(value.plain),
        "standard_error": value.standard_error,
        "evidence": value.evidence,
        "samples": value.samples,
        "verdict": unit.verdict.action,
        "reason": unit.verdict.reason,
        "text": unit.text,
    }
