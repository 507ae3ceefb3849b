import math
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from skillsv.model.concentration import concentration
from skillsv.report.figures import concentration_chart
from skillsv.report.sentences import net_effects

SVG = "{http://www.w3.org/2000/svg}"


def drawn_texts(figure):
    return [text.text for text in ET.fromstring(str(figure.svg)).iter(f"{SVG}text")]


def circles(figure, kind):
    found = ET.fromstring(str(figure.svg)).iter(f"{SVG}circle")
    return [(float(dot.get("cx")), float(dot.get("cy"))) for dot in found if kind in dot.get("class")]


def test_shares_of_the_table_rise_to_one_best_first(valuation_of):
    figure = concentration_chart(valuation_of([0.1, -0.2, 0.3, 0.0]))
    assert [row[2] for row in figure.rows] == ["u2", "u0", "u3", "u1"]
    assert [row[4] for row in figure.rows] == [0.25, 0.5, 0.75, 1.0]
    assert [row[5] for row in figure.rows] == pytest.approx([0.75, 1.0, 1.0, 1.0])


def test_the_ring_is_at_the_concentration_of_the_best_tenth(case):
    figure = concentration_chart(case.valuation)
    share = concentration(net_effects(case.valuation))
    [(x, y)] = circles(figure, "hollow")
    assert (x - 64) / (560 - 64) == pytest.approx(2 / 17, abs=1e-4)  # a tenth of 17 units, rounded up
    assert (320 - y) / (320 - 16) == pytest.approx(share, abs=1e-4)
    assert f"Best 10%: 2 of 17 lines, {share:.0%} of all gains." in drawn_texts(figure)
    assert figure.rows[1][5] == share


def test_each_unit_with_a_gain_has_a_dot_that_links_to_it(valuation_of):
    figure = concentration_chart(valuation_of([0.1, -0.2, 0.3, 0.0]), target=lambda unit: f"#go-{unit}")
    links = [link.get("href") for link in ET.fromstring(str(figure.svg)).iter(f"{SVG}a")]
    assert links == ["#go-u2", "#go-u0"]
    assert "Rule 0.: +10.0, 100% with all better units" in str(figure.svg)


@pytest.mark.parametrize("nets", [[], [0.0], [0.0, 0.0], [-0.1], [math.nan, math.nan]])
def test_without_gains_the_chart_says_so_and_has_no_curve(valuation_of, nets):
    figure = concentration_chart(valuation_of(nets))
    assert "No unit has a positive value." in drawn_texts(figure)
    assert circles(figure, "") == []
    assert [row[5] for row in figure.rows] == [None] * len(nets)
    assert not re.search(r"\bnan\b", str(figure.svg), re.IGNORECASE)


def test_one_unit_holds_all_gains(valuation_of):
    figure = concentration_chart(valuation_of([0.2]))
    assert circles(figure, "hollow") == [(560.0, 16.0)]
    assert "90% of the gains: 1 of 1 line." in drawn_texts(figure)


def test_units_without_a_value_have_no_gain(valuation_of):
    figure = concentration_chart(valuation_of([math.nan, 0.2, 0.2, math.nan]))
    assert [row[3] for row in figure.rows] == [0.2, 0.2, None, None]
    assert [row[5] for row in figure.rows] == [0.5, 1.0, 1.0, 1.0]
    assert "2 units without a value yet" in figure.note


def test_three_hundred_units_have_a_curve_without_dots(valuation_of):
    figure = concentration_chart(valuation_of([0.001 * (number % 7) for number in range(300)]))
    assert len(figure.rows) == 300
    assert circles(figure, "dot") == []
    assert len(circles(figure, "hollow")) == 1
    assert len(str(figure.svg)) < 20_000


def test_hostile_unit_text_stays_text(case):
    bad = '<img src=x onerror="alert(1)"></svg><script>alert(1)</script>\x00\u202e'
    units = tuple(replace(unit, text=bad) for unit in case.valuation.units)
    root = ET.fromstring(str(concentration_chart(replace(case.valuation, units=units)).svg))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags == {"svg", "title", "desc", "g", "text", "line", "rect", "path", "circle"}
