import io
import math
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from skillsv.model.format import points, with_bounds
from skillsv.model.value import Action, ChainCost, Closure, Interval, Verdict
from skillsv.report.sentences import closure_sentence, execution_units, lift_sentence, trigger_sentence
from skillsv.report.text import junit_xml, markdown_summary, terminal_table, text_bar


def printed(valuation, width=100, *, colour=False):
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, color_system="truecolor" if colour else None)
    console.print(terminal_table(valuation, width, colour))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_the_terminal_table_has_every_unit_and_fits_the_width(case, width):
    text = printed(case.valuation, width)
    assert all(len(line) <= width for line in text.splitlines())
    for action in Action:
        expected = sum(unit.verdict.action is action for unit in execution_units(case.valuation))
        assert len(re.findall(rf" {action} *$", text, flags=re.MULTILINE)) == expected
    assert "+40.5 [+33.5, +47.5] points" in " ".join(text.split())
    assert "2,304 rollouts run" in text


def test_the_terminal_table_has_colours_only_if_asked(case):
    assert "\x1b[" in printed(case.valuation, colour=True)
    assert "\x1b[" not in printed(case.valuation)


def test_of_very_many_units_the_terminal_table_shows_the_largest_in_their_order(case, monkeypatch):
    units = [unit for unit in execution_units(case.valuation) if unit.value.has_value]
    monkeypatch.setattr("skillsv.report.text.MOST_ROWS", 2)
    text = printed(case.valuation, 140)
    shown = [line for line in text.splitlines() if re.search(rf" ({'|'.join(Action)}) *$", line)]
    largest = sorted(units, key=lambda unit: -abs(unit.value.on_panel.value))[:2]
    lines = sorted(unit.lines.first for unit in largest)
    assert [int(line.split()[0]) for line in shown] == lines
    assert f"{len(execution_units(case.valuation)) - 2} lines with smaller values are not shown here." in text


def hostile(valuation):
    unit = execution_units(valuation)[0]
    text = "- \x1b]0;title\x07 [bold]x[/bold] | a | <img src=x onerror=alert(1)> \u202e @everyone `x`"
    reason = "because </testsuite> \x1b[2J | ]]> & [link](javascript:alert(1))"
    bad = replace(unit, text=text, verdict=Verdict(unit=unit.id, action=Action.HARMFUL, reason=reason))
    return replace(valuation, units=(bad,), skill={"name": "na`me\x1b[1m"})


def test_hostile_text_has_no_terminal_codes_in_the_table(case):
    text = printed(hostile(case.valuation), 140)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]x[/bold]" in text


def test_hostile_text_stays_one_cell_of_the_markdown_table(case):
    text = markdown_summary(hostile(case.valuation))
    assert "<img" not in text
    assert "[link](" not in text
    assert "@everyone" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "bold" in line]
    assert len(rows) == 2
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 9 for row in rows)


def test_junit_is_well_formed_with_hostile_text(case):
    root = ET.fromstring(junit_xml(hostile(case.valuation)))
    (failure,) = root.iter("failure")
    assert "because </testsuite>" in failure.get("message")


def test_junit_fails_harmful_units_and_skips_unresolved_ones(case):
    root = ET.fromstring(junit_xml(case.valuation))
    units = execution_units(case.valuation)
    assert len(list(root.iter("testcase"))) == len(units) == int(root.get("tests"))
    assert len(list(root.iter("failure"))) == sum(unit.verdict.action is Action.HARMFUL for unit in units)
    assert len(list(root.iter("skipped"))) == sum(unit.verdict.action is Action.UNRESOLVED for unit in units)


def test_markdown_lists_units_to_change_first(case):
    text = markdown_summary(case.valuation)
    before, after = text.split("<details>")
    assert "▼ harmful" in before
    assert "● keep" not in before
    assert after.count("\n| ") == len(execution_units(case.valuation)) + 1
    assert "Provisional" not in text
    assert "Provisional" in markdown_summary(replace(case.valuation, provisional=True))


BOUND = st.floats(-1, 1) | st.sampled_from([float("nan"), float("inf"), float("-inf")])


@given(BOUND, BOUND, BOUND, st.integers(5, 40))
def test_a_text_bar_has_its_width_and_a_dot_at_its_value(value, low, high, width):
    bar = text_bar(Interval(value, low, high), 1.0, width)
    assert len(bar) == width
    assert bar.count("●") == (not math.isnan(value))


def test_a_text_bar_draws_the_value_on_its_side_of_zero():
    assert text_bar(Interval(0.6, 0.4, 0.8), 1.0, 11) == "     │ ─●─ "
    assert text_bar(Interval(-0.6, -0.8, -0.4), 1.0, 11) == " ─●─ │     "


def test_a_known_sum_of_unknown_values_is_not_said_to_add_up(early):
    lift = early.estimate.closure.lift
    closure = Closure(sum=lift, lift=lift, ratio=1.0, covered=True, gap=Interval(0.0, -0.01, 0.01))
    text = " ".join(printed(replace(early, estimate=replace(early.estimate, closure=closure)), 140).split())
    assert "All units together are worth +89.0" in text
    assert "how that divides among them is not known yet" in text
    assert "add up" not in text


def test_too_early_is_not_zero(early):
    text = " ".join(printed(early, 140).split())
    units = len(execution_units(early))
    assert f"Too early: the values explain 0 of 89 points; {units} of {units} units have no value yet." in text
    assert "Next sensible budget: --max-rollouts 582." in text
    assert "– [−95.0, +98.0]" in text
    assert "positive value" not in text
    assert "Too early: the values explain 0 of 89 points" in markdown_summary(early)


def test_the_measured_gamma_is_in_terminal_and_markdown(case):
    cost = ChainCost(gamma=0.2, rollouts=1856, full_rollouts=40_000)
    chains = replace(case.valuation, chain_cost=cost)
    for text in (printed(chains, width=200), markdown_summary(chains)):
        assert "20% of the prefixes of the chains were evaluated before truncation (gamma)" in text
        assert "1,856 rollouts instead of 40,000 (R / R_full 0.046)" in text
    assert "gamma" not in markdown_summary(replace(case.valuation, chain_cost=None))


def header_of(valuation, width):
    return re.split(r"\s{2,}", printed(valuation, width).splitlines()[1].strip())


def test_the_terminal_table_shows_content_and_cost_where_there_is_room(case):
    values = ["content", "cost", "net", "95% interval"]
    assert header_of(case.valuation, 60) == ["line", "unit", "tokens", "net", "95% interval", "verdict"]
    assert header_of(case.valuation, 80) == ["line", "unit", *values, "verdict"]
    assert header_of(case.valuation, 120) == ["line", "unit", "tokens", *values, "verdict"]
    unit = execution_units(case.valuation)[0].value
    narrow, wide = printed(case.valuation, 80), printed(case.valuation, 160)
    assert f"{points(unit.content.value)}  {points(unit.cost.value)}" in narrow
    assert f"{with_bounds(unit.content)}   {with_bounds(unit.cost)}" in wide


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_the_terminal_breaks_no_word(case, width):
    text = printed(case.valuation, width)
    table, closing = text.split("The skill lifts", 1)
    rows = table.splitlines()[3:-1]
    assert len(rows) == len(execution_units(case.valuation))
    sentences = [lift_sentence(case.valuation), trigger_sentence(case.valuation), closure_sentence(case.valuation)]
    words = set(" ".join(sentences).split())
    assert words <= set(f"The skill lifts{closing}".split())


def test_a_run_with_one_operator_has_no_content_or_cost(case):
    def bare(unit):
        return replace(unit, value=replace(unit.value, content=None, cost=None))

    one = replace(case.valuation, units=tuple(map(bare, case.valuation.units)))
    assert header_of(one, 120) == ["line", "unit", "tokens", "net", "95% interval", "verdict"]
    assert "| tokens | net [95%] | verdict |" in markdown_summary(one)
    for text in (printed(one, 120), markdown_summary(one)):
        assert "net effect = content value" not in text


def test_markdown_has_content_cost_and_net_with_their_intervals(case):
    text = markdown_summary(replace(case.valuation, settings={"level": 0.9}))
    assert "| content [90%] | cost [90%] | net [90%] |" in text
    value = execution_units(case.valuation)[1].value
    assert f"| {with_bounds(value.content)} | {with_bounds(value.cost)} | {with_bounds(value.net)} |" in text


def test_the_trigger_value_is_in_terminal_and_markdown(case):
    sentence = "The trigger alone is worth +1.0 [−2.0, +4.0] points; without any skill the score is 25.0."
    assert sentence in " ".join(printed(case.valuation, 80).split())
    assert sentence in markdown_summary(case.valuation)
