"""Figures over methods and benchmarks, from results in the form of `skillsv.bench/1`."""

from __future__ import annotations

import pytest

from skillsv.model.concentration import concentration
from skillsv.model.format import percent
from skillsv.model.value import Interval
from skillsv_bench.agreement import pool_agreements
from skillsv_bench.figures import (
    MethodColumn,
    agreement_figure,
    concentration_figure,
    methods_figure,
    unit_values,
    values_by_method_figure,
)
from skillsv_bench.tables import agreement_table, units_table


def interval(value):
    return {"value": value, "low": value - 0.1, "high": value + 0.1}


def unit(number, net, content=None):
    return {
        "id": f"u{number}",
        "file": "SKILL.md",
        "lines": [number, number + 1],
        "tokens": 10 * number,
        "content": None if content is None else interval(content),
        "cost": None if content is None else interval(content - net),
        "net": interval(net) if net is not None else {"value": None, "low": -1.0, "high": 1.0},
        "samples": 12,
        "verdict": "keep",
    }


def result(title, nets, ps, *, judge=True):
    units = [unit(number, net, None if net is None else net + 0.05) for number, net in enumerate(nets, start=1)]
    pairs = [
        {"first": "skillsv", "second": f"m{n}", "tau": None if p is None else 0.4, "p": p, "p_holm": p}
        for n, p in enumerate(ps)
    ]
    names = [one["id"] for one in units]
    return {
        "title": title,
        "valuation": {"units": units},
        "closure_loo": {"units": {name: interval(0.25) for name in names}},
        "judge": {"units": {name: {"value": 0.8, "low": 0.8, "high": 0.8} for name in names}} if judge else None,
        "held_out": {"agreements": pairs},
    }


FIRST = result("One", [0.4, 0.1, -0.2, None], [0.01, 0.2])
SECOND = result("Two", [0.0, -0.1], [0.02, None], judge=False)


def test_holm_corrects_all_pairs_of_all_benchmarks_together():
    pairs = pool_agreements([FIRST, SECOND])
    assert [pair.p_holm for pair in pairs] == [pytest.approx(0.03), 0.2, pytest.approx(0.04), None]
    assert [pair.differs_from_chance for pair in pairs] == [True, False, True, False]
    alone = pool_agreements([FIRST])
    assert [pair.p_holm for pair in alone] == [pytest.approx(0.02), 0.2]
    rows = agreement_table([FIRST, SECOND]).rows
    assert [row[-1] for row in rows] == [pair.p_holm for pair in pairs]


def test_the_agreement_figure_fills_the_dots_that_differ_from_chance():
    figure = agreement_figure(pool_agreements([FIRST, SECOND]))
    svg = str(figure.svg)
    assert svg.count("<circle") == 3
    assert svg.count('fill="none"') == 1
    assert svg.count("all tied") == 1
    assert len(figure.rows) == 4


def test_the_concentration_figure_uses_the_one_definition():
    figure = concentration_figure([FIRST, SECOND])
    assert figure.rows[0] == ("One", 0.25, pytest.approx(concentration(unit_values(FIRST))))
    assert [row[2] for row in figure.rows] == pytest.approx([0.8, 1.0, 1.0, 1.0])
    assert f"the best tenth holds {percent(0.8)}" in str(figure.svg)
    assert "no unit has a positive value" in str(figure.svg)


def test_values_by_method_hold_both_operators_and_both_baselines():
    figure = values_by_method_figure(FIRST)
    assert [column.partition(",")[0] for column in figure.columns[1::3]] == [
        *("SkillSV", "SkillSV"),
        *("Closure-LOO", "LLM judge"),
    ]
    assert figure.rows[0][1] == 0.4
    assert figure.rows[0][4] == pytest.approx(0.45)
    assert figure.rows[0][7] == 0.25
    assert figure.rows[0][10] == 0.8
    unknown = next(row for row in figure.rows if "u4" in str(row[0]))
    assert unknown[1:7] == (None,) * 6
    assert len(values_by_method_figure(SECOND).columns) == 1 + 9


def test_a_method_without_a_value_for_a_unit_leaves_its_place_empty():
    columns = [MethodColumn(title="a", values={"x": Interval(0.1, 0.0, 0.2)}), MethodColumn(title="b", values={})]
    figure = methods_figure([("x", "x"), ("y", "<y>")], columns, name="n", title="t", note="")
    assert figure.rows == [("x", 0.1, 0.0, 0.2, None, None, None), ("<y>", *(None,) * 6)]
    assert str(figure.svg).count("<circle") == 1
    assert "<y>" not in str(figure.svg)


def test_units_csv_has_a_column_for_each_method():
    header, first, *_ = units_table(FIRST).csv().splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert list(row)[:5] == ["unit", "file", "lines", "tokens", "content (points)"]
    assert row["lines"] == "1-2"
    assert (row["net (points)"], row["net low (points)"], row["net high (points)"]) == ("40.0", "30.0", "50.0")
    assert (row["content (points)"], row["cost (points)"]) == ("45.0", "5.0")
    assert (row["samples"], row["verdict"]) == ("12", "keep")
    assert (row["Closure-LOO (points)"], row["judge (0-100)"]) == ("25.0", "80.0")
    earlier = {**FIRST, "closure_loo": {}}
    del earlier["judge"]
    assert units_table(earlier).rows[0][-4:] == (None,) * 4
