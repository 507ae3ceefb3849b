import json
import math
from dataclasses import replace
from pathlib import PurePosixPath

from skillsv.model.value import Interval
from skillsv.report.valuation_json import json_value, valuation_dict

TOP = {
    "schema", "skill", "settings", "anchors", "trigger_value", "content_lift", "closure", "units", "sections",
    "rollouts", "usage", "notes",
}  # fmt: skip
UNIT = {
    "id", "kind", "file", "span", "lines", "section", "tokens", "needs", "content", "cost", "net", "samples", "verdict",
}  # fmt: skip


def test_it_has_every_field_of_the_schema(case):
    answer = valuation_dict(case.valuation)
    assert answer["schema"] == "skillsv.valuation/1"
    assert set(answer) >= TOP
    assert set(answer["anchors"]) == {"empty", "trigger", "full"}
    assert set(answer["closure"]) == {"sum", "lift", "ratio", "covered"}
    assert set(answer["rollouts"]) == {"spent", "reused", "failed", "cut", "forecast"}
    assert all(set(unit) >= UNIT | {"reason", "evidence", "standard_error", "plain"} for unit in answer["units"])


def test_values_are_those_of_the_valuation(case):
    answer = valuation_dict(case.valuation)
    for unit, found in zip(case.valuation.units, answer["units"], strict=True):
        assert found["net"] == {"value": unit.value.net.value, "low": unit.value.net.low, "high": unit.value.net.high}
        assert found["verdict"] == unit.verdict.action.value
        assert type(found["verdict"]) is str
        assert found["lines"] == [unit.lines.first, unit.lines.last]


def test_with_one_operator_content_and_cost_are_null(one_operator):
    units = valuation_dict(one_operator.valuation)["units"]
    assert {unit["content"] for unit in units} == {unit["cost"] for unit in units} == {None}


def test_what_is_not_finite_becomes_null(case):
    first = case.valuation.units[1]
    wild = replace(first, value=replace(first.value, net=Interval(math.nan, -math.inf, math.inf)))
    answer = valuation_dict(replace(case.valuation, units=(wild,)))
    assert answer["units"][0]["net"] == {"value": None, "low": None, "high": None}
    json.dumps(answer, allow_nan=False)


def test_settings_of_any_kind_become_plain_json():
    value = {"path": PurePosixPath("a/b"), "set": frozenset({"z", "a"}), "tuple": (1, (2.5, None)), 3: True}
    assert json_value(value) == {"path": "a/b", "set": ["a", "z"], "tuple": [1, [2.5, None]], "3": True}


def test_a_note_that_both_carry_is_said_once(case):
    estimate = replace(case.valuation.estimate, notes=("twice",))
    answer = valuation_dict(replace(case.valuation, estimate=estimate, notes=("twice", "once")))
    assert answer["notes"] == ["twice", "once"]
