"""Chains: the grid of all scored prefixes, and the differences that one unit made."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from skillsv.model.coalition import ChainRecord, Operator, Scores
from skillsv.model.format import plural, points, task_score
from skillsv.report.figures.axis import FAINT, MUTED, Scale
from skillsv.report.figures.svg import Cell, Figure, Number, drawing, element
from skillsv.report.marginals import Marginal, mean, steps_of
from skillsv.report.verdict_styles import POSITIVE

# Pixels of the grid: its edges and the height of a row.
_LEFT = 72.0
_RIGHT = 1096.0
_TOP = 22.0
_ROW = 17.0

_SMALL: dict[str, Number | str | None] = {"font_size": 10, "fill": MUTED}
_COUNT: dict[str, Number | str | None] = {"font_size": 10, "fill": "#fff", "text_anchor": "middle"}


def chain_grid(records: Sequence[ChainRecord]) -> Figure:
    """A row per chain and operator, a cell per scored prefix, stronger for a higher score; `┃` marks truncation."""
    longest = max((len(record.plan.order) for record in records), default=1)
    across = Scale(0, longest, _LEFT, _RIGHT)
    chain_rows = [(record, operator) for record in records for operator in record.plan.operators]
    levels: dict[int | None, str] = {}
    names, stops = [], []
    for index, (record, operator) in enumerate(chain_rows):
        y = _TOP + index * _ROW
        names.append(element("text", f"{record.plan.index + 1} {operator}", x=_LEFT - 8, y=y + 11))
        stops += _stop(record, y, across)
        for position, scores in _prefixes(record, operator):
            score = mean(scores)
            level = None if score is None else round(10 * score)
            levels[level] = levels.get(level, "") + _dash(across, position, y)
    cells = [_filled(level, dashes) for level, dashes in levels.items()]
    labels = element("g", *names, text_anchor="end", font_size=11, fill=MUTED)
    rows = [row for record, operator in chain_rows for row in _cells(record, operator)]
    return Figure(
        name="chains",
        title="Scored prefixes",
        svg=drawing(
            1100,
            _TOP + len(chain_rows) * _ROW + 6,
            "Scored prefixes",
            f"{plural(len(records), 'chain')}, {len(rows)} scored prefixes",
            *(_heading(longest, across), labels, *cells, *stops),
            class_="chains wide",
        ),
        columns=("chain", "operator", "units in", "added", "score", "scores by task"),
        rows=rows,
        note="From left to right one unit is added at a time; a stronger colour is a higher score on the chain's "
        "window. A bar marks truncation: the prefix already scored like the whole skill, so the rest counts as zero.",
    )


def _prefixes(record: ChainRecord, operator: Operator) -> list[tuple[int, Scores]]:
    trigger = record.trigger[record.plan.operators.index(operator)]
    return [(0, trigger), *((step.position, step.scores) for step in steps_of(record, operator))]


def _heading(longest: int, across: Scale) -> Markup:
    first = element("text", "trigger", x=_LEFT, y=14, fill=MUTED, font_size=11)
    last = element("text", f"all {longest} units", x=across(longest), y=14, text_anchor="end", fill=MUTED, font_size=11)
    return element("g", first, last, class_="soft")


def _dash(across: Scale, position: int, y: float) -> str:
    """A cell as a piece of a thick line, which takes a dozen characters; a rectangle takes eighty."""
    return f"M{across(position):.0f} {y + 7:.0f}h{max(across(position + 1) - across(position) - 1, 0.8):.1f}"


def _filled(level: int | None, cells: str) -> Markup:
    """All cells with the same score, to a tenth, as one path: the page stays small with thousands of cells."""
    if level is None:
        return element("path", d=cells, stroke=MUTED, stroke_width=1, class_="missing")
    return element(
        "path", d=cells, stroke=POSITIVE, stroke_width=14, stroke_opacity=0.06 + 0.084 * level, class_="cell"
    )


def _stop(record: ChainRecord, y: float, across: Scale) -> list[Markup]:
    if record.truncated_at is None:
        return []
    x = across(record.truncated_at + 1)
    rest = element("line", x1=x, x2=across.stop, y1=y + 7, y2=y + 7, stroke=FAINT, class_="rest")
    return [rest, element("rect", x=x - 1, y=y, width=3, height=14, class_="stop")]


def _cells(record: ChainRecord, operator: Operator) -> list[tuple[Cell, ...]]:
    chain = record.plan.index + 1
    return [
        (chain, str(operator), step.position + 1, step.unit, mean(step.scores), score_marks(step.scores))
        for step in steps_of(record, operator)
    ]


def score_marks(scores: Sequence[float | None]) -> str:
    """The scores of a window in a few characters: 1 right, 0 wrong, · missing; with spaces if one lies in between."""
    marks = ["·" if score is None else task_score(score).replace("0.", ".") for score in scores]
    return ("" if all(len(mark) == 1 for mark in marks) else " ").join(marks)


def marginal_dots(marginals: Sequence[Marginal], reach: float) -> Figure | None:
    """One unit's difference in every chain: deletion above padding; the area of a dot is the number of chains.

    Truncated chains are counted below the dots: their zeros were not measured.
    """
    measured = [item for item in marginals if item.value is not None]
    if not measured:
        return None
    operators = [operator for operator in Operator if any(item.operator is operator for item in measured)]
    at, height = Scale(-reach, reach, 60, 352), 30 * len(operators) + 18
    dots, counts = _dots(measured, operators, at)
    parts = [
        element("path", d=f"M{at(0):.0f} 2V{height - 18}", stroke=MUTED, class_="zero"),
        element("g", *dots, fill=POSITIVE, fill_opacity=0.75, class_="dot"),
        *([element("g", *counts, **_COUNT, class_="count")] if counts else []),
        element("g", *_dot_labels(measured, operators, reach, height), **_SMALL, class_="axis"),
    ]
    return Figure(
        name="marginals",
        title="Difference in each chain",
        svg=drawing(360, height, "Difference in each chain", "", *parts, class_="dots"),
        columns=("chain", "operator", "units before", "difference", "truncated"),
        rows=[(i.chain + 1, str(i.operator), i.position, i.value, "yes" if i.truncated else "no") for i in measured],
    )


def _dots(items: Sequence[Marginal], operators: Sequence[Operator], at: Scale) -> tuple[list[Markup], list[Markup]]:
    counter = Counter((item.operator, item.value) for item in items if not item.truncated)
    dots, counts = [], []
    for (operator, difference), count in counter.items():
        x, y = round(at(difference or 0.0)), 14 + 30 * operators.index(operator)
        radius = min(2.6 * math.sqrt(count), 12.0)
        dots.append(element("circle", cx=x, cy=y, r=round(radius, 1)))
        counts += [element("text", str(count), x=x, y=y + 4)] if radius > 6 else []
    return dots, counts


def _dot_labels(items: Sequence[Marginal], operators: Sequence[Operator], reach: float, height: int) -> list[Markup]:
    names = [element("text", str(operator), x=0, y=18 + 30 * index) for index, operator in enumerate(operators)]
    cut = len({item.chain for item in items if item.truncated})
    ends = [
        element("text", points(-reach), x=60, y=height - 4),
        element("text", points(reach), x=352, y=height - 4, text_anchor="end"),
    ]
    note = f"{plural(cut, 'chain')} stopped before it"
    return [*names, *ends, *([element("text", note, x=206, y=height - 4, text_anchor="middle")] if cut else [])]
