"""The valuation without a browser: a table for the terminal, Markdown for a pull request, JUnit XML for CI."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skillsv.model.format import bounds, count, points, short_number, with_bounds
from skillsv.model.value import Action, Interval, UnitReport, Valuation
from skillsv.report.escape import escape_text
from skillsv.report.figures.axis import drawable, largest_end
from skillsv.report.sentences import (
    MARK,
    all_notes,
    chain_cost_sentence,
    closure_sentence,
    concentration_sentence,
    execution_units,
    lift_sentence,
    removable_units,
    saving_sentence,
    spending_sentence,
    unit_label,
    unit_location,
)

_STYLE = {
    Action.KEEP: "blue",
    Action.COMPRESS: "cyan",
    Action.DELETE: "bright_black",
    Action.HARMFUL: "dark_orange3",
    Action.UNRESOLVED: "dim",
}

_MARKDOWN_ESCAPES = str.maketrans(
    {symbol: f"\\{symbol}" for symbol in "\\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)

BAR = 21
"""Columns of the small bar."""

WIDTH_WITH_BAR = 100
"""Columns that the table needs to have room for the bar."""


def terminal_table(valuation: Valuation, width: int = 100, colour: bool = True) -> RenderableType:  # noqa: FBT001, FBT002
    """Every unit with its value, interval, a small bar and its verdict; then the lift, the closure, the spending."""
    table = Table(box=box.SIMPLE_HEAD, width=width, pad_edge=False, header_style="bold" if colour else "")
    with_bar = width >= WIDTH_WITH_BAR
    table.add_column("line", justify="right", no_wrap=True)
    table.add_column("unit", ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column(f"{short_number(100 * valuation.settings.get('level', 0.95))} % interval", no_wrap=True)
    if with_bar:
        table.add_column("", width=BAR, no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    reach = largest_end(unit.value.net for unit in execution_units(valuation) if unit.value.has_value)
    for unit in execution_units(valuation):
        style = _STYLE[unit.verdict.action] if colour else ""
        cells = [Text(str(unit.lines.first), style="dim" if colour else ""), Text(unit_label(unit, 200))]
        cells += [Text(count(unit.tokens)), Text(points(unit.value.net.value), style=style)]
        cells += [Text(bounds(unit.value.net))]
        cells += [Text(text_bar(unit.value.net, reach, BAR), style=style)] if with_bar else []
        cells += [Text(f"{MARK[unit.verdict.action]} {unit.verdict.action}", style=style)]
        table.add_row(*cells)
    return Group(table, *(Text(line) for line in _closing_lines(valuation)))


def _closing_lines(valuation: Valuation) -> list[str]:
    provisional = ["Provisional: the run is not finished."] if valuation.provisional else []
    return [
        *provisional,
        lift_sentence(valuation),
        f"{concentration_sentence(valuation)} {saving_sentence(valuation)}",
        closure_sentence(valuation),
        *filter(None, [chain_cost_sentence(valuation)]),
        spending_sentence(valuation),
        *(f"Note: {escape_text(note)}" for note in all_notes(valuation)),
    ]


def text_bar(interval: Interval, reach: float, width: int) -> str:
    """An interval as characters: `─` from end to end, `●` the value, `│` zero. Without a value there is no `●`."""
    middle, has_value, interval = (width - 1) // 2, not math.isnan(interval.value), drawable(interval)

    def column(value: float) -> int:
        return max(0, min(width - 1, round(middle + value / reach * middle)))

    cells = [" "] * width
    for index in range(column(interval.low), column(interval.high) + 1):
        cells[index] = "─"
    cells[middle] = "│"
    if has_value:
        cells[column(interval.value)] = "●"
    return "".join(cells)


def markdown_summary(valuation: Valuation) -> str:
    """The valuation for a pull request: sentences, the units to change, and all units in a folded table."""
    name = escape_text(str(valuation.skill.get("name", "skill")))
    lines = [f"### What each part of `{name.replace('`', '')}` is worth", ""]
    lines += ["> Provisional: the run is not finished.", ""] if valuation.provisional else []
    lines += [f"**{lift_sentence(valuation)}** {concentration_sentence(valuation)} {saving_sentence(valuation)}", ""]
    to_change = [
        *removable_units(valuation),
        *(unit for unit in execution_units(valuation) if unit.verdict.action is Action.COMPRESS),
    ]
    if to_change:
        lines += [*_markdown_rows(to_change, reason=True), ""]
    summary = f"<details><summary>All {len(execution_units(valuation))} units</summary>"
    lines += [summary, "", *_markdown_rows(execution_units(valuation), reason=False), "", "</details>", ""]
    sentences = [closure_sentence(valuation), chain_cost_sentence(valuation), spending_sentence(valuation)]
    lines += [" ".join(filter(None, sentences)), ""]
    lines += [f"- {_markdown_cell(note)}" for note in all_notes(valuation)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_rows(units: tuple[UnitReport, ...] | list[UnitReport], *, reason: bool) -> list[str]:
    last = "reason" if reason else "samples"
    rows = [f"| unit | where | tokens | value [95 %] | verdict | {last} |", "|---|---|--:|--:|---|---|"]
    for unit in units:
        end = _markdown_cell(unit.verdict.reason) if reason else str(unit.value.samples)
        cells = [
            _markdown_cell(unit_label(unit)),
            _markdown_cell(unit_location(unit)),
            count(unit.tokens),
            with_bounds(unit.value.net),
        ]
        verdict = f"{MARK[unit.verdict.action]} {unit.verdict.action}"
        rows.append("| " + " | ".join([*cells, verdict, end]) + " |")
    return rows


def _markdown_cell(text: str) -> str:
    """One line that Markdown shows as it is; a zero-width space after `@` prevents mentions of people."""
    return " ".join(escape_text(text).split()).translate(_MARKDOWN_ESCAPES).replace("@", "@\u200b")


def junit_xml(valuation: Valuation) -> str:
    """One test case per unit: a harmful unit fails, an unresolved one is skipped, the rest pass."""
    units = execution_units(valuation)
    numbers = {action: sum(unit.verdict.action is action for unit in units) for action in Action}
    name = escape_text(str(valuation.skill.get("name", "skill")))
    suite = ET.Element("testsuite", name=f"skillsv.{name}", tests=str(len(units)), errors="0")
    suite.set("failures", str(numbers[Action.HARMFUL]))
    suite.set("skipped", str(numbers[Action.UNRESOLVED]))
    for unit in units:
        suite.append(_test_case(unit))
    ET.SubElement(suite, "system-out").text = "\n".join(_closing_lines(valuation))
    root = ET.Element("testsuites", tests=suite.get("tests", ""), failures=suite.get("failures", ""), errors="0")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _test_case(unit: UnitReport) -> ET.Element:
    case = ET.Element("testcase", name=f"{unit_location(unit)} {unit_label(unit)}", classname=escape_text(unit.id))
    case.set("file", escape_text(unit.file))
    case.set("line", str(unit.lines.first))
    message = escape_text(unit.verdict.reason)
    if unit.verdict.action is Action.HARMFUL:
        ET.SubElement(case, "failure", type="harmful", message=message)
    elif unit.verdict.action is Action.UNRESOLVED:
        ET.SubElement(case, "skipped", message=message)
    else:
        ET.SubElement(case, "system-out").text = f"{unit.verdict.action}: {message}"
    return case
