import math
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from skillsv.report.figures import waterfall
from skillsv.report.sentences import execution_units

SVG = "{http://www.w3.org/2000/svg}"

TRIGGER = "frontmatter (trigger)"
"""The row of the trigger."""


def names(figure):
    return [row[0] for row in figure.rows]


def drawn_texts(figure):
    return [text.text for text in ET.fromstring(str(figure.svg)).iter(f"{SVG}text")]


def drawn_bars(figure):
    """The start and the end of each bar, in pixels."""
    bars = re.findall(r'd="M([\d.]+) [\d.]+H([\d.]+)v16\.0H[\d.]+z"', str(figure.svg))
    return [(float(start), float(end)) for start, end in bars]


def drawn_anchors(figure):
    return [float(disc.get("cx")) for disc in ET.fromstring(str(figure.svg)).iter(f"{SVG}circle")]


def test_the_running_total_goes_from_no_skill_to_the_full_score(valuation_of):
    nets = [0.31, -0.2, math.nan, 0.004, *(0.01 * number for number in range(-8, 9))]
    valuation = valuation_of(nets, full=0.63)
    *steps, last = waterfall(valuation).rows
    assert steps[0][:4] == ("no skill", "", None, 0.2)
    total = steps[0][3]
    for _, _, change, after, _ in steps[1:]:
        total += change or 0.0
        assert after == pytest.approx(total, abs=1e-12)
    assert last[:4] == ("whole skill", "", None, 0.63)
    assert total == pytest.approx(0.63, abs=1e-12)


def test_each_bar_is_drawn_from_the_end_of_the_bar_above(valuation_of):
    figure = waterfall(valuation_of([0.31, -0.2, 0.1, 0.02], full=0.63), most=2)
    bars, (empty, full) = drawn_bars(figure), drawn_anchors(figure)
    assert len(bars) == 5  # trigger, two units, the others, not explained
    assert [start for start, _ in bars] == pytest.approx([empty, *(end for _, end in bars[:-1])], abs=0.02)
    assert bars[-1][1] == pytest.approx(full, abs=0.02)
    assert bars[2][1] < bars[2][0] < bars[1][1] + 0.02  # the loss goes to the left


def test_units_come_by_the_size_of_their_effect_and_the_rest_as_one_bar(valuation_of):
    figure = waterfall(valuation_of([0.02, -0.2, 0.1, -0.01, 0.3]), most=3)
    assert [row[1] for row in figure.rows] == ["", "", "u4", "u1", "u2", "", ""]
    assert names(figure) == ["no skill", TRIGGER, *(f"8  Rule {n}." for n in (4, 1, 2)), "2 other lines", "whole skill"]
    assert figure.rows[5][2] == pytest.approx(0.01)
    assert [row[4] for row in figure.rows[2:5]] == ["keep", "harmful", "keep"]
    assert "−20.0" in drawn_texts(figure)


def test_a_difference_beyond_rounding_is_shown_as_not_explained(valuation_of):
    assert "not explained" not in names(waterfall(valuation_of([0.3], full=0.5504)))
    figure = waterfall(valuation_of([0.3], full=0.5306))
    name, _, change, after, _ = figure.rows[-2]
    assert (name, change, after) == ("not explained", pytest.approx(-0.0194), pytest.approx(0.5306))
    assert "−1.9" in drawn_texts(figure)
    assert "Dashed" in figure.note


def test_units_without_a_value_are_one_row_without_a_number(valuation_of, early):
    figure = waterfall(valuation_of([math.nan, 0.1, math.nan], full=0.6))
    assert names(figure)[3:] == ["2 lines not separated yet", "not explained", "whole skill"]
    assert figure.rows[3][2] is None
    assert figure.rows[3][3] == figure.rows[2][3]
    assert "–" in drawn_texts(figure)
    assert names(waterfall(early))[2] == "17 lines not separated yet"


def test_no_unit_one_unit_and_zeros_are_drawn(valuation_of):
    assert names(waterfall(valuation_of([]))) == ["no skill", TRIGGER, "whole skill"]
    assert names(waterfall(valuation_of([0.2]))) == ["no skill", TRIGGER, "8  Rule 0.", "whole skill"]
    flat = waterfall(valuation_of([0.0, 0.0], empty=0.0, trigger=0.0))
    assert [row[3] for row in flat.rows] == [0.0] * 5
    assert len({end for bar in drawn_bars(flat) for end in bar}) == 1


@pytest.mark.parametrize(
    ("empty", "trigger", "full"), [(math.nan, 0.1, 0.5), (0.2, math.nan, 0.5), (0.2, 0.1, math.nan)]
)
def test_a_missing_anchor_leaves_no_nan_in_the_drawing(valuation_of, empty, trigger, full):
    figure = waterfall(valuation_of([0.1], empty=empty, trigger=trigger, full=full))
    assert not re.search(r"\b(nan|inf)\b", str(figure.svg), re.IGNORECASE)
    assert "–" in drawn_texts(figure)


def test_three_hundred_units_take_no_more_rows_than_most(valuation_of):
    valuation = valuation_of([0.001 * (number % 7) for number in range(300)])
    figure = waterfall(valuation)
    assert len(figure.rows) == 12 + 4
    assert names(figure)[-2] == "288 other lines"
    assert len(waterfall(valuation, most=0).rows) == 4
    assert len(waterfall(valuation, most=500).rows) == 300 + 3


def test_hostile_unit_text_stays_text(case):
    bad = '<img src=x onerror="alert(1)"></svg><script>alert(1)</script>\x00\u202e'
    units = tuple(replace(unit, text=bad) for unit in case.valuation.units)
    root = ET.fromstring(str(waterfall(replace(case.valuation, units=units)).svg))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags == {"svg", "title", "desc", "g", "text", "line", "path", "circle"}


def test_links_lead_to_the_units_that_have_a_row(case):
    figure = waterfall(case.valuation, target=lambda unit: f"#go-{unit}", most=4)
    links = [link.get("href") for link in ET.fromstring(str(figure.svg)).iter(f"{SVG}a")]
    ranked = sorted(execution_units(case.valuation), key=lambda unit: -abs(unit.value.net.value))
    assert links == [f"#go-{unit.id}" for unit in ranked[:4]]
