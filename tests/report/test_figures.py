import math
import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.model.coalition import AdaptiveReason, Observation, Operator
from skillsv.model.edit import CurvePoint, PruneStep, PruningCurve
from skillsv.model.skill import Lines, UnitKind
from skillsv.model.value import Interval
from skillsv.report.figures import (
    anchor_chart,
    chain_grid,
    coalition_chart,
    concentration_chart,
    decision_map,
    has_context_cost,
    margin_bar,
    marginal_dots,
    pruning_chart,
    pruning_path,
    section_list,
    value_chart,
    waterfall,
)
from skillsv.report.figures.axis import Scale, drawable, largest_end, padded_range
from skillsv.report.figures.coalitions import REASONS, scored_coalitions
from skillsv.report.line_names import LineNames
from skillsv.report.marginals import marginals_by_unit
from skillsv.report.sentences import execution_units

SVG = "{http://www.w3.org/2000/svg}"


def curve(method, scores):
    points = tuple(
        CurvePoint(
            share_removed=index / (len(scores) - 1), tokens_left=100 - 20 * index, score=Interval(s, s - 0.1, s + 0.1)
        )
        for index, s in enumerate(scores)
    )
    return PruningCurve(method=method, points=points, auc=Interval(sum(scores) / len(scores), 0.4, 0.6))


@pytest.fixture
def figures(case):
    table = marginals_by_unit(case.records)
    unit = execution_units(case.valuation)[0].id
    steps = [
        PruneStep(unit="a", removed=("a",), kept=frozenset(), tokens_left=50, share_removed=0.5, lost_value=0.1),
        PruneStep(unit="b", removed=("b",), kept=frozenset(), tokens_left=0, share_removed=1.0, lost_value=0.4),
    ]
    return {
        "anchors": anchor_chart(case.valuation),
        "values": value_chart(case.valuation),
        "decision": decision_map(case.valuation),
        "sections": section_list(case.valuation),
        "waterfall": waterfall(case.valuation),
        "concentration": concentration_chart(case.valuation),
        "pruning": pruning_chart([curve("skillsv", [0.8, 0.8, 0.3]), curve("random", [0.8, 0.5, 0.3])]),
        "path": pruning_path(steps, 100, names=LineNames(()), actions={}),
        "chains": chain_grid(case.records),
        "dots": marginal_dots(table[unit], 1.0),
    }


NAMES = ["anchors", "values", "decision", "sections", "waterfall", "concentration", "pruning", "path", "chains", "dots"]


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_well_formed_with_title_and_table(figures, name):
    figure = figures[name]
    root = ET.fromstring(str(figure.svg))
    assert root.get("role") == "img"  # no links here: one image to a screen reader
    assert root.find(f"{SVG}title").text
    assert figure.rows
    assert all(len(row) == len(figure.columns) for row in figure.rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_has_no_style_no_script_and_no_nan(figures, name):
    text = str(figures[name].svg)
    assert "style" not in text
    assert "<script" not in text
    assert "NaN" not in text
    assert not re.search(r"\b(nan|inf)\b", text)


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_show_the_same_drawing(figures, name):
    figure = figures[name]
    bundle = figure._repr_mimebundle_(include=None, exclude=None)
    assert bundle["image/svg+xml"] == str(figure.svg)
    assert str(figure.svg) in figure._repr_html_() == bundle["text/html"]


def test_the_value_chart_ranks_all_units(case, figures):
    nets = [row[2] for row in figures["values"].rows]
    assert nets == sorted((unit.value.net.value for unit in execution_units(case.valuation)), reverse=True)


def test_a_long_value_chart_says_how_many_units_it_leaves_out(case):
    few = value_chart(case.valuation, most=6)
    assert "11 lines between" in str(few.svg)
    assert len(few.rows) == 17


def test_labels_in_capitals_are_cut_to_the_column_of_a_value_chart(case):
    shout = "IMPORTANT: NEVER MAKE UP THE NUMBER OF A PARCEL, NOT EVEN ONCE"
    units = tuple(replace(unit, text=shout) for unit in case.valuation.units)
    texts = ET.fromstring(str(value_chart(replace(case.valuation, units=units)).svg)).iter(f"{SVG}text")
    labels = [text.text for text in texts if "IMPORTANT" in text.text]
    assert labels
    assert all(label.endswith("…") and 30 < len(label) < 49 for label in labels)  # 54 small letters fit there


def test_there_is_no_decision_map_with_one_operator(one_operator):
    assert decision_map(one_operator.valuation) is None


def test_rows_of_the_section_list_sum_their_units(case, figures):
    rows = figures["sections"].rows
    total = sum(unit.value.net.value for unit in execution_units(case.valuation))
    assert rows[0][1] == "sum"
    assert rows[0][3] == pytest.approx(total)
    assert sum(row[3] for row in rows if row[1] == "unit") == pytest.approx(total)
    section = next(row for row in rows if row[0].endswith(" / Answering"))
    below = [row for row in rows if row[0].startswith(section[0] + " / ")]
    assert section[3] == pytest.approx(sum(row[3] for row in below))


def test_a_run_has_a_context_cost_where_some_length_costs_points(case, one_operator):
    free = [
        replace(unit, value=replace(unit.value, cost=Interval(0.0002, -0.01, 0.01))) for unit in case.valuation.units
    ]
    assert has_context_cost(case.valuation)
    assert not has_context_cost(replace(case.valuation, units=tuple(free)))
    assert not has_context_cost(one_operator.valuation)


def removal(*units):
    return PruneStep(unit=units[0], removed=units, kept=frozenset(), tokens_left=50, share_removed=0.5, lost_value=0.1)


def draw_path(valuation, *steps, **options):
    actions = {unit.id: unit.verdict.action for unit in valuation.units}
    return pruning_path(steps, 100, names=LineNames(execution_units(valuation)), actions=actions, **options)


def test_the_pruning_path_says_confirmed_only_of_what_panel_b_measured(case):
    step = removal(execution_units(case.valuation)[0].id)
    proved = draw_path(case.valuation, step, chosen=(0.5, -0.1), measured=Interval(0.181, 0.097, 0.264))
    assert ">shorter skill, confirmed</text>" in str(proved.svg)
    assert proved.note.endswith("run on panel B, where the score changed by +18.1 [+9.7, +26.4] points.")
    predicted = draw_path(case.valuation, step, chosen=(0.5, -0.1))
    assert ">shorter skill</text>" in str(predicted.svg)
    assert predicted.note.endswith("none of it is confirmed on held-out tasks yet.")
    assert "chosen" not in str(draw_path(case.valuation, step).svg)


def test_the_table_of_the_pruning_path_names_lines_and_verdicts(case):
    first, second, *_ = units = execution_units(case.valuation)
    file = next(unit for unit in units if unit.kind is UnitKind.RESOURCE)
    rows = draw_path(case.valuation, removal(first.id), removal(second.id, file.id)).rows
    assert rows[0][0].startswith(f"line {first.lines.first}: Read the tariff")
    assert rows[0][1] == str(first.verdict.action)
    assert rows[1][0] == f"line {second.lines.first} and {file.file}"
    assert not any(unit.id in str(row) for unit in units if unit.id != unit.file for row in rows)
    assert "a line to keep can go early" in draw_path(case.valuation, removal(first.id)).note


def test_links_of_a_chart_have_the_given_addresses(case):
    figure = value_chart(case.valuation, target=lambda unit: f"#go-{unit}")
    links = [link.get("href") for link in ET.fromstring(str(figure.svg)).iter(f"{SVG}a")]
    assert 'role="group"' in str(figure.svg)
    assert sorted(links) == sorted(f"#go-{unit.id}" for unit in execution_units(case.valuation))


def test_the_pruning_chart_marks_full_skill_and_trigger():
    chart = pruning_chart([curve("skillsv", [0.8, 0.3])], full=Interval(0.8, 0.7, 0.9), trigger=Interval(0.3, 0.2, 0.4))
    assert "whole skill 80.0" in str(chart.svg)
    assert "frontmatter alone 30.0" in str(chart.svg)


def test_the_chain_grid_marks_truncated_chains(case):
    cut = sum(record.truncated_at is not None for record in case.records)
    marks = [box for box in ET.fromstring(str(chain_grid(case.records).svg)).iter() if box.get("class") == "stop"]
    assert len(marks) == cut * 2


def test_hostile_unit_text_stays_text_in_figures(case):
    unit = execution_units(case.valuation)[0]
    bad = replace(
        unit, text='<img src=x onerror="alert(1)"></svg><script>alert(1)</script>\x00\u202e', section=("</text>",)
    )
    valuation = replace(case.valuation, units=(bad,))
    for figure in (value_chart(valuation), decision_map(valuation), section_list(valuation)):
        tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(str(figure.svg)).iter()}
        assert tags <= {"svg", "title", "desc", "g", "a", "text", "line", "rect", "path", "circle"}


def test_a_margin_bar_is_drawn_for_an_unknown_interval(case):
    unknown = Interval(float("nan"), float("-inf"), float("inf"))
    bar = ET.fromstring(str(margin_bar(unknown, (-0.1, 0.1), execution_units(case.valuation)[0].verdict.action)))
    assert bar.get("class") == "bar"


def test_an_unknown_interval_is_drawn_from_edge_to_edge():
    assert drawable(Interval(math.nan, -math.inf, math.nan)) == Interval(0.0, -1.0, 1.0)
    assert largest_end([]) == 1.0
    assert largest_end([Interval(0.1, -0.3, 0.2)]) == 0.3


def test_scales_have_round_ticks():
    assert Scale(-0.12, 0.31, 0, 100).ticks() == pytest.approx([-0.1, 0.0, 0.1, 0.2, 0.3])
    assert Scale(0.5, 0.5, 0, 100).ticks() == [0.5]
    assert Scale(0.5, 0.5, 0, 100)(0.5) == 0
    low, high = padded_range([])
    assert low < 0 < 1 < high


def observation(units, task, score, operator=Operator.DELETE, why="verify"):
    return Observation(coalition=frozenset(units), operator=operator, task=task, replicate=0, score=score, why=why)


def names_of(*units):
    """Names of units that are one line each: the first is line 1."""
    shape = SimpleNamespace(kind=UnitKind.ITEM, file="SKILL.md")
    return LineNames(
        [SimpleNamespace(**vars(shape), id=unit, lines=Lines(line, line)) for line, unit in enumerate(units, start=1)]
    )


def test_the_table_of_coalitions_names_the_frontmatter_and_no_ids():
    seen = [observation("m", "t", 0.0, why="anchor:trigger"), observation("m" + "a", "t", 0.0, why="bisect")]
    figure = coalition_chart(seen, frozenset("mabcdef"), names_of(*"abcdef"))
    assert [row[4:] for row in figure.rows] == [
        ("frontmatter alone", "frontmatter alone"),
        ("search for the deciding line", "line 1"),
    ]
    assert set(AdaptiveReason) <= set(REASONS)


def test_the_coalition_chart_groups_observations_by_coalition():
    seen = [
        observation("mab", "t1", 1.0, why="anchor:full"),
        observation("mab", "t2", 0.5),
        observation("ma", "t1", None),
        observation("ma", "t2", 0.0),
        observation("", "t1", 0.0, why="anchor:empty"),
        observation("ma", "t1", 1.0, Operator.PAD),
    ]
    figure = coalition_chart(seen, frozenset("mab"), names_of("a", "b"))
    assert [row[:4] for row in figure.rows] == [
        (0, "delete", 1, 0.0),
        (2, "delete", 1, 0.0),
        (2, "pad", 1, 1.0),
        (3, "delete", 2, 0.75),
    ]
    assert [row[5] for row in figure.rows] == ["none", "all but line 2", "all but line 2", "all"]
    assert figure.rows[-1][4] == "whole skill, check of a prediction"
    assert len(list(ET.fromstring(str(figure.svg)).iter(f"{SVG}circle"))) == 4


def marks_of(figure):
    """The centres of the marks that are discs or rings, in the order of the rows."""
    return [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', str(figure.svg))]


def test_the_axes_of_the_decision_map_are_those_of_the_paper(case, figures):
    figure = figures["decision"]
    discs = {"keep", "compress", "delete"}
    rows = [row for row in figure.rows if row[-1] in discs]
    marks = marks_of(figure)
    assert len(marks) == len(rows) > 5
    by_content = [x for _, (x, _) in sorted(zip((row[1] for row in rows), marks, strict=True))]
    by_cost = [y for _, (_, y) in sorted(zip((row[4] for row in rows), marks, strict=True))]
    assert by_content == sorted(by_content)  # content value grows to the right
    assert by_cost == sorted(by_cost, reverse=True)  # cost grows upwards
    text = str(figure.svg)
    assert re.search(r"<text [^>]*rotate\(-90[^>]*>context cost, points", text)
    assert re.search(r"<text (?![^>]*rotate)[^>]*>content value, points", text)


def test_the_decision_map_names_its_quadrants_where_there_is_room(case, figures):
    text = str(figures["decision"].svg)
    for name in ("keep: content without cost", "compress: content that costs", "delete: cost without content"):
        assert text.count(f">{name}</text>") == 1
    helpful = [unit for unit in case.valuation.units if unit.value.content and unit.value.content.low > 0]
    assert "delete:" not in str(decision_map(replace(case.valuation, units=tuple(helpful))).svg)


def test_the_section_list_shows_no_number_where_no_unit_has_a_value(early):
    figure = section_list(early)
    assert {row[-1] for row in figure.rows} == {None}
    assert "+0.0" not in figure.svg
    assert ": – points" in figure.svg


@given(coalitions=st.lists(st.frozensets(st.sampled_from("abcdefgh")), max_size=20), data=st.data())
def test_scored_coalitions_are_sorted_by_size_operator_and_units(coalitions, data):
    observations = [
        Observation(
            coalition=units, operator=data.draw(st.sampled_from(Operator)), task="t", replicate=0, score=1.0, why=""
        )
        for units in coalitions
    ]
    found = [(len(item.coalition), item.operator, sorted(item.coalition)) for item in scored_coalitions(observations)]
    assert found == sorted(found)
