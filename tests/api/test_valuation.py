"""The object of the result: lookup, JSON, data frame, figures, notebook."""

import dataclasses
import json

import pytest

import skillsv as sv
from skillsv.errors import CoalitionError, SettingsError


@pytest.fixture(scope="module")
def valuation():
    skill = "# Colours\n\n- red\n- green\n- a <b>remark</b>\n"
    run = sv.value(
        skill,
        evaluate=lambda text, word: float(word in text),
        examples=["red", "green", "blue"] * 8,
        max_rollouts=400,
        operators="delete,pad",
    )
    return run.valuation


def test_units_are_found_by_id_and_number(valuation):
    unit = valuation["colours/bullet-2"]
    assert unit.text.strip() == "- green"
    assert valuation[unit.id] is unit
    with pytest.raises(CoalitionError):
        valuation["nothing"]


def test_it_is_immutable(valuation):
    with pytest.raises(dataclasses.FrozenInstanceError):
        valuation.notes = ()


def test_to_dict_is_the_schema_of_the_command(valuation):
    table = valuation.to_dict()
    assert table["schema"] == "skillsv.valuation/1"
    assert json.loads(json.dumps(table)) == table
    assert len(table["units"]) == len(valuation.units)


def test_to_frame_has_a_row_for_each_unit(valuation):
    pytest.importorskip("pandas")
    frame = valuation.to_frame()
    assert list(frame["unit"]) == [unit.id for unit in valuation.units]
    assert frame["net"].sum() == pytest.approx(valuation.closure.sum.value)


@pytest.mark.parametrize("kind", ["waterfall", "bars", "decision", "tree", "concentration", "anchors"])
def test_each_figure_is_an_svg(valuation, kind):
    figure = valuation.plot(kind)
    assert str(figure.svg).startswith("<svg")
    assert "<b>remark" not in str(figure.svg)
    assert "image/svg+xml" in figure._repr_mimebundle_()


def test_an_unknown_figure_is_named(valuation):
    with pytest.raises(SettingsError, match="no figure 'pie'"):
        valuation.plot("pie")


def test_a_notebook_shows_a_table_without_markup_of_the_skill(valuation):
    page = valuation._repr_html_()
    assert "<table>" in page
    assert "<b>remark" not in page


def test_print_shows_the_table(valuation):
    assert "verdict" in repr(valuation)
    assert "red" in repr(valuation)
