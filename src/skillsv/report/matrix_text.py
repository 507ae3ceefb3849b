"""The matrix of units and agents without a browser: rows, CSV, sentences, a table for the terminal."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skillsv.model.format import UNKNOWN, count, decimal, plural, points, short_points, with_bounds
from skillsv.model.matrix_document import MatrixCellDocument, MatrixDocument, MatrixSkillDocument, MatrixUnitDocument
from skillsv.model.valuation_document import EffectDocument
from skillsv.model.value import Interval
from skillsv.report.escape import escape_line, shorten

MARKS: Mapping[str, str] = {"helps": "+", "harms": "−", "none": "·", "open": "?"}
"""The sign of each effect in a cell."""

PATTERN_WORDS: Mapping[str, str] = {
    "helps all": "helps every agent that has values",
    "helps some": "helps some agents, and harms none",
    "disagree": "helps one agent and harms another",
    "harms some": "harms some agents, and helps none",
    "harms all": "harms every agent that has values",
    "none": "matters to no agent that has values",
    "open": "is not known yet",
}
"""Each pattern in words, after `line 12`."""

_STYLES: Mapping[str, str] = {"helps": "color(25)", "harms": "color(166)", "none": "dim", "open": "dim"}
"""The colour of a cell on a terminal."""

_ROOM_FOR_BOUNDS = 26
"""Columns of the terminal for each agent from which on intervals are shown."""

_ROOM_FOR_UNIT = 16
"""Columns that the first words of a unit have at least."""

_NAME_ENDS = (":", "/")
"""Characters after which the name of an agent may be cut."""

_LABEL = 60
"""Characters of a unit's first words."""

_MARKUP = re.compile(r"^[\s>#*+-]+|^\d+[.)]\s+|[*`_]")
"""Markdown that a label leaves out."""

CSV_MARK = "unit,file,line,"
"""The beginning of every CSV of a matrix."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters that begin a formula in a spreadsheet."""


def interval_of(effect: EffectDocument) -> Interval:
    """An interval of the document; NaN where a number is not known."""
    ends = (effect["value"], effect["low"], effect["high"])
    value, low, high = (math.nan if end is None else end for end in ends)
    return Interval(value, low, high)


def cells_by_agent(unit: MatrixUnitDocument) -> dict[str, MatrixCellDocument]:
    """The cells of a unit by the name of the agent."""
    return {cell["agent"]: cell for cell in unit["cells"]}


def unit_words(unit: MatrixUnitDocument, width: int = _LABEL) -> str:
    """A unit's first words without Markdown; a file without text has its path."""
    first = next((line for line in unit["text"][: 20 * width].splitlines() if line.strip(" \t`-|:")), unit["file"])
    return shorten(escape_line(_MARKUP.sub("", first)).strip() or escape_line(unit["id"]), width)


def matrix_rows(document: MatrixDocument) -> list[dict[str, object]]:
    """One flat row per unit; amounts of score are shares."""
    rows = []
    for unit in document["units"]:
        row: dict[str, object] = {"unit": unit["id"], "file": unit["file"], "line": unit["lines"][0]}
        for cell in unit["cells"]:
            net, name = cell["net"], cell["agent"]
            row |= {name: net["value"], f"{name} low": net["low"], f"{name} high": net["high"]}
            row[f"{name} effect"] = cell["effect"]
        row |= {"tokens": unit["tokens"], "shows": unit["pattern"]}
        rows.append({**row, "disagree": unit["disagree"], "differ": unit["disagree"]})  # two names of one thing
    return rows


def matrix_csv(document: MatrixDocument) -> str:
    """One line per unit. Amounts of score are points of a hundred; text like a formula gets an apostrophe."""
    rows = matrix_rows(document)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_csv_cell, rows[0]) if rows else ["unit"])
    writer.writerows([[_csv_cell(value) for value in row.values()] for row in rows])
    return out.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, float):
        return round(100 * value, 4)
    if isinstance(value, bool):
        return str(value).lower()
    text = escape_line(str(value)) if isinstance(value, str) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(_FORMULA) else text


def matrix_lines(document: MatrixDocument, *, units: bool = True) -> list[str]:
    """What was found, in sentences; with `units`, one for each unit on which agents differ."""
    agents = document["agents"]
    lines = [_count_sentence(document)]
    lines += [_unit_sentence(unit) for unit in document["units"] if units and unit["disagree"]]
    for pair in document["agreements"]:
        tau = UNKNOWN if pair["tau"] is None else decimal(pair["tau"], digits=2)
        chance = "" if pair["p_holm"] is None else f" (p {decimal(pair['p_holm'], digits=3)})"
        lines.append(f"Rank agreement of {pair['first']} and {pair['second']}: tau {tau}{chance}.")
    lines.append(skill_sentence(document, document["shared"]))
    lines += [skill_sentence(document, skill) for skill in document["for_each"] if len(document["for_each"]) > 1]
    for agent in agents:
        rollouts = agent["rollouts"]
        kind = "noisy" if agent["noisy"] else "steady"
        spent = "" if rollouts is None else f"{kind}, {plural(rollouts['spent'], 'rollout')} run"
        reused = "" if rollouts is None or not rollouts["reused"] else f", {count(rollouts['reused'])} reused"
        error = "" if agent["error"] is None else f"{'; ' if spent else ''}{agent['error']}"
        lines.append(f"{agent['name']}: {spent}{reused}{error}".rstrip(".") + ".")
    lines.append("Values and shorter skills are predicted, not proved: 'skillsv shrink --agents' proves one for all.")
    lines += [f"Note: {note}" for note in document["notes"]]
    return [escape_line(line) for line in lines]


def _count_sentence(document: MatrixDocument) -> str:
    units, found = document["units"], dict[str, int]()
    for unit in units:
        found[unit["pattern"]] = found.get(unit["pattern"], 0) + 1
    parts = [
        f"{count(found[pattern])} {(one if found[pattern] == 1 else several).format(all=all_agents(document))}"
        for pattern, (one, several) in _COUNTED.items()
        if pattern in found
    ]
    differ = sum(unit["disagree"] for unit in units)
    return f"Of {plural(len(units), 'unit')}: {', '.join(parts)}. Agents differ on {count(differ)}."


def all_agents(document: MatrixDocument) -> str:
    """The agents with values in words: agents that failed say nothing about a unit."""
    valued = sum(agent["rollouts"] is not None for agent in document["agents"])
    if valued == len(document["agents"]):
        return "all agents"
    return "the only agent with values" if valued == 1 else f"all {count(valued)} agents with values"


_COUNTED: Mapping[str, tuple[str, str]] = {
    "helps all": ("helps {all}", "help {all}"),
    "helps some": ("helps only some", "help only some"),
    "disagree": ("helps one and harms another", "help one and harm another"),
    "harms some": ("harms some", "harm some"),
    "harms all": ("harms {all}", "harm {all}"),
    "none": ("matters to none", "matter to none"),
    "open": ("is not known yet", "are not known yet"),
}
"""Each pattern in words after one unit, and after several; `all` are the agents with values."""


def _unit_sentence(unit: MatrixUnitDocument) -> str:
    values = ", ".join(f"{cell['agent']} {with_bounds(interval_of(cell['net']))}" for cell in unit["cells"])
    return f"Line {unit['lines'][0]} ({unit_words(unit, 40)}): {values}."


def skill_sentence(document: MatrixDocument, skill: MatrixSkillDocument) -> str:
    """What the smallest skill for some agents is predicted to keep."""
    agents = all_agents(document) if len(skill["agents"]) > 1 else skill["agents"][0]
    before, after = document["skill"]["tokens"], skill["tokens_after"]
    if not skill["removed"]:
        return f"For {agents} nothing can go without a predicted risk of more than {_drop(document)} points."
    changes = ", ".join(f"{row['agent']} {with_bounds(interval_of(row['change']))}" for row in skill["predicted"])
    return (
        f"For {agents}: {count(after)} of {plural(before, 'token')} without {plural(len(skill['removed']), 'unit')}; "
        f"predicted change {changes}."
    )


def _drop(document: MatrixDocument) -> str:
    return short_points(document["max_drop"])


def matrix_table(document: MatrixDocument, width: int = 100, colour: bool = True) -> RenderableType:  # noqa: FBT001, FBT002
    """Every unit with its value for each agent and what they show together; then the findings in sentences."""
    names = [agent["name"] for agent in document["agents"] if agent["rollouts"] is not None]
    table = Table(box=box.SIMPLE_HEAD, width=width, pad_edge=False, header_style="bold" if colour else "")
    table.add_column("line", justify="right", no_wrap=True)
    table.add_column("unit", ratio=1, no_wrap=True, overflow="ellipsis", min_width=_ROOM_FOR_UNIT)
    bounds = (width - 40) // max(len(names), 1) >= _ROOM_FOR_BOUNDS
    for name in shorten_names(names):
        table.add_column(Text(escape_line(name)), justify="right", no_wrap=bounds, overflow="fold")
    table.add_column("shows", no_wrap=True)
    for unit in document["units"]:
        cells = cells_by_agent(unit)
        row = [Text(str(unit["lines"][0])), Text(unit_words(unit))]
        for name in names:
            cell = cells[name]
            net = interval_of(cell["net"])
            amount = with_bounds(net) if bounds else points(net.value)
            row.append(Text(f"{amount} {MARKS[cell['effect']]}", style=_STYLES[cell["effect"]] if colour else ""))
        shown = f"{unit['pattern']}{' *' if unit['disagree'] else ''}"
        table.add_row(*row, Text(shown, style="bold" if colour and unit["disagree"] else ""))
    key = "+ helps, − harms, · matters too little, ? open, * agents differ; points of a hundred on these tasks."
    keys = [key] if bounds else [key, "Intervals are left out for lack of room: the page, --json and --csv have them."]
    lines = [*keys, *matrix_lines(document, units=False)]
    return Group(table, *(Text(line) for line in lines))


def shorten_names(names: Sequence[str]) -> list[str]:
    """The names of agents without what all of them begin with, as in `python:agents.py:`; never an empty name."""
    alike = "".join(same[0] for same in takewhile(lambda one: len({*one}) == 1, zip(*names, strict=False)))
    begin = max(alike.rfind(mark) for mark in _NAME_ENDS) + 1
    return [name[begin:] for name in names] if len({*names}) > 1 and alike not in names else list(names)
