"""The valuation without a browser: a table for the terminal, Markdown for a pull request, JUnit XML for CI."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from xml.etree import ElementTree as ET

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skillsv.model.edit import Confirmation
from skillsv.model.format import UNKNOWN, bounds, count, has_width, points, short_number, with_bounds
from skillsv.model.value import Action, Interval, UnitReport, Valuation
from skillsv.report.escape import escape_text
from skillsv.report.figures.axis import drawable, largest_end
from skillsv.report.line_names import distinct_labels
from skillsv.report.sentences import (
    DECOMPOSITION,
    MARK,
    SCOPE,
    all_notes,
    chain_cost_sentence,
    closure_sentence,
    concentration_sentence,
    execution_units,
    has_content,
    labelled_unit,
    lift_sentence,
    proof_sentence,
    reached_sentence,
    removable_units,
    saving_sentence,
    spending_sentence,
    trigger_sentence,
    unit_label,
    unit_location,
)
from skillsv.report.verdict_styles import VERDICT_STYLES

_MARKDOWN_ESCAPES = str.maketrans(
    {symbol: f"\\{symbol}" for symbol in "\\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)

BAR = 21
"""Columns of the small bar."""

_SHORTEST_LABEL = 12
"""Characters of a label in the narrowest table."""

_ROOM_FOR_BAR = 100
"""Columns that the table needs to have room for the bar."""

_ROOM_FOR_CONTENT = 80
"""Columns that the table needs to have room for content and cost, in the place of the tokens."""

_ROOM_FOR_TOKENS = 115
"""Columns that the table needs to have room for content, cost, tokens and the bar."""

_ROOM_FOR_BOUNDS = 150
"""Columns that the table needs to have room for the intervals of content and cost."""


MOST_ROWS = 300
"""Units that the table of the terminal shows; the page and the JSON have all."""


def terminal_table(valuation: Valuation, width: int = 100, colour: bool = True) -> RenderableType:  # noqa: FBT001, FBT002
    """Every unit with its values, interval, a small bar and its verdict; then the lift, the closure, the spending.

    Of very many units those with the largest values are shown. A narrow table leaves out the bar, then the intervals of
    content and cost, then the tokens, then content and cost.
    """
    table = Table(
        box=box.SIMPLE_HEAD,
        width=width,
        pad_edge=False,
        collapse_padding=width < _ROOM_FOR_BAR,
        header_style="bold" if colour else "",
    )
    with_content = has_content(valuation) and width >= _ROOM_FOR_CONTENT
    room = _ROOM_FOR_TOKENS if with_content else _ROOM_FOR_BAR
    with_tokens, with_bar = not with_content or width >= room, width >= room
    everything = execution_units(valuation)
    units = _largest(everything)
    headings = ["line", *(["tokens"] if with_tokens else []), *(["content", "cost"] if with_content else []), "net"]
    headings += [f"{_level(valuation)} interval", *([""] if with_bar else []), "verdict"]
    reach = largest_end(unit.value.on_panel for unit in units if unit.value.has_value)
    amount = with_bounds if width >= _ROOM_FOR_BOUNDS else _value_alone
    parts = {"tokens": with_tokens, "content": with_content, "bar": with_bar}
    rows = [_unit_cells(unit, parts, amount, reach, colour=colour) for unit in units]
    labels = distinct_labels({unit.id: labelled_unit(unit, 200) for unit in units}, _label_width(headings, rows, width))
    for number, heading in enumerate(headings):
        left = number in {len(headings) - 1, len(headings) - 1 - with_bar - 1} or not heading
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
        if not number:
            table.add_column("unit", ratio=1, no_wrap=True, overflow="ellipsis")
    for unit, (line, *rest) in zip(units, rows, strict=True):
        table.add_row(line, Text(labels[unit.id]), *rest)
    closing = _closing_lines(valuation)
    if len(units) < len(everything):
        closing.insert(0, f"{count(len(everything) - len(units))} lines with smaller values are not shown here.")
    return Group(table, *map(Text, closing))


def _largest(units: Sequence[UnitReport]) -> Sequence[UnitReport]:
    """The units with the largest values, in the order of the skill."""
    if len(units) <= MOST_ROWS:
        return units
    by_size = sorted(units, key=lambda unit: -abs(unit.value.on_panel.value) if unit.value.has_value else 0.0)
    shown = {unit.id for unit in by_size[:MOST_ROWS]}
    return [unit for unit in units if unit.id in shown]


def _unit_cells(
    unit: UnitReport, parts: Mapping[str, bool], amount: Callable[[Interval], str], reach: float, *, colour: bool
) -> list[Text]:
    """The cells of a unit's row but its label, in the order of the columns."""
    style = VERDICT_STYLES[unit.verdict.action].terminal if colour else ""
    net = unit.value.on_panel
    cells = [Text(str(unit.lines.first), style="dim" if colour else "")]
    cells += [Text(count(unit.tokens))] if parts["tokens"] else []
    if parts["content"]:
        cells += [Text(_amount(part, amount)) for part in (unit.value.content, unit.value.cost)]
    cells += [Text(points(net.value), style=style), Text(bounds(net) if has_width(net) else "")]
    cells += [Text(text_bar(net, reach, BAR), style=style)] if parts["bar"] else []
    return [*cells, Text(f"{MARK[unit.verdict.action]} {unit.verdict.action}", style=style)]


def _label_width(headings: Sequence[str], rows: Sequence[Sequence[Text]], width: int) -> int:
    """The columns that are left for labels beside all other cells and the gaps between them."""
    cells = [[heading, *(row[number].plain for row in rows)] for number, heading in enumerate(headings)]
    gap = 2 if width < _ROOM_FOR_BAR else 3
    return max(_SHORTEST_LABEL, width - sum(max(map(cell_len, column)) + gap for column in cells) - 2)


def _level(valuation: Valuation) -> str:
    """The level of the intervals, such as `95%`."""
    level = valuation.settings.get("level")
    return f"{short_number(100 * (level if isinstance(level, float) else 0.95))}%"


def _value_alone(interval: Interval) -> str:
    return points(interval.value)


def _amount(interval: Interval | None, write: Callable[[Interval], str]) -> str:
    """A value as a cell of a table; a dash where it was not measured."""
    return UNKNOWN if interval is None else write(interval)


def _closing_lines(valuation: Valuation) -> list[str]:
    provisional = ["Provisional: the run is not finished."] if valuation.provisional else []
    return [
        *provisional,
        lift_sentence(valuation),
        trigger_sentence(valuation),
        *([DECOMPOSITION] if has_content(valuation) else []),
        f"{concentration_sentence(valuation)} {saving_sentence(valuation)}",
        SCOPE,
        closure_sentence(valuation),
        *filter(None, [reached_sentence(valuation), chain_cost_sentence(valuation)]),
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


def markdown_summary(valuation: Valuation, confirmation: Confirmation | None = None) -> str:
    """The valuation for a pull request: the last proof, sentences, the units to change, and all units, folded."""
    name = escape_text(str(valuation.skill.get("name", "skill")))
    lines = [f"### What each part of `{name.replace('`', '')}` is worth", ""]
    lines += ["> Provisional: the run is not finished.", ""] if valuation.provisional else []
    lines += [f"**{proof_sentence(confirmation)}**", ""] if confirmation else []
    lines += [f"**{lift_sentence(valuation)}** {concentration_sentence(valuation)} {saving_sentence(valuation)}", ""]
    lines += [" ".join([trigger_sentence(valuation), *([DECOMPOSITION] if has_content(valuation) else [])]), ""]
    to_change = [
        *removable_units(valuation),
        *(unit for unit in execution_units(valuation) if unit.verdict.action is Action.COMPRESS),
    ]
    if to_change:
        lines += [*_markdown_rows(valuation, to_change, reason=True), ""]
    summary = f"<details><summary>All {len(execution_units(valuation))} units</summary>"
    lines += [summary, "", *_markdown_rows(valuation, execution_units(valuation), reason=False), "", "</details>", ""]
    sentences = [
        closure_sentence(valuation),
        reached_sentence(valuation),
        chain_cost_sentence(valuation),
        spending_sentence(valuation),
    ]
    lines += [" ".join(filter(None, sentences)), ""]
    lines += [f"- {_markdown_cell(note)}" for note in all_notes(valuation)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_rows(valuation: Valuation, units: Sequence[UnitReport], *, reason: bool) -> list[str]:
    names = ["content", "cost", "net"] if has_content(valuation) else ["net"]
    amounts = " | ".join(f"{name} [{_level(valuation)}]" for name in names)
    rows = [f"| unit | where | tokens | {amounts} | verdict | {'reason' if reason else 'samples'} |"]
    rows += [f"|---|---|--:|{'--:|' * len(names)}---|---|"]
    for unit in units:
        end = _markdown_cell(unit.verdict.reason) if reason else str(unit.value.samples)
        parts = {"content": unit.value.content, "cost": unit.value.cost, "net": unit.value.on_panel}
        cells = [
            _markdown_cell(labelled_unit(unit)),
            _markdown_cell(unit_location(unit)),
            count(unit.tokens),
            *(_amount(parts[name], with_bounds) for name in names),
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
    if valuation.provisional:
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", name="provisional", value="true")
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
