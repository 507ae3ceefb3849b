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


def test_valuation_json_has_every_field_of_the_schema(case):
    fields = valuation_dict(case.valuation)
    assert fields["schema"] == "skillsv.valuation/1"
    assert set(fields) >= TOP
    assert set(fields["anchors"]) == {"empty", "trigger", "full"}
    assert set(fields["closure"]) == {"sum", "lift", "ratio", "covered"}
    assert set(fields["rollouts"]) == {"spent", "reused", "failed", "cut", "forecast"}
    assert all(set(unit) >= UNIT | {"reason", "evidence", "standard_error", "plain"} for unit in fields["units"])


def test_json_values_equal_those_of_the_valuation(case):
    fields = valuation_dict(case.valuation)
    for unit, row in zip(case.valuation.units, fields["units"], strict=True):
        assert row["net"] == {"value": unit.value.net.value, "low": unit.value.net.low, "high": unit.value.net.high}
        assert row["verdict"] == unit.verdict.action.value
        assert type(row["verdict"]) is str
        assert row["lines"] == [unit.lines.first, unit.lines.last]


def test_content_and_cost_are_null_with_one_operator(one_operator):
    units = valuation_dict(one_operator.valuation)["units"]
    assert {unit["content"] for unit in units} == {unit["cost"] for unit in units} == {None}


def test_numbers_that_are_not_finite_become_null(case):
    first = case.valuation.units[1]
    not_finite = replace(first, value=replace(first.value, net=Interval(math.nan, -math.inf, math.inf)))
    fields = valuation_dict(replace(case.valuation, units=(not_finite,)))
    assert fields["units"][0]["net"] == {"value": None, "low": None, "high": None}
    json.dumps(fields, allow_nan=False)


def test_values_of_any_type_become_json_values():
    value = {"path": PurePosixPath("a/b"), "set": frozenset({"z", "a"}), "tuple": (1, (2.5, None)), 3: True}
    assert json_value(value) == {"path": "a/b", "set": ["a", "z"], "tuple": [1, [2.5, None]], "3": True}


def test_a_note_of_valuation_and_estimate_appears_once(case):
    estimate = replace(case.valuation.estimate, notes=("twice",))
    fields = valuation_dict(replace(case.valuation, estimate=estimate, notes=("twice", "once")))
    assert fields["notes"] == ["twice", "once"]


def test_a_unit_that_no_rollout_has_separated_has_a_range_and_no_value(early):
    fields = valuation_dict(early)
    assert {tuple(unit["net"].values()) for unit in fields["units"]} == {(None, -0.95, 0.98)}
    assert fields["notes"][0].startswith("Too early: the values explain 0 of 89 points")
    json.dumps(fields, allow_nan=False)
