"""Chains: every prefix that was scored, and the differences a unit made in each of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from skillsv.model.chain import ChainRecord
from skillsv.model.coalition import Operator
from skillsv.report.figures.axis import Scale
from skillsv.report.figures.figure import Cell, Figure
from skillsv.report.figures.palette import FAINT, MUTED, POSITIVE
from skillsv.report.figures.svg import Number, drawing, element
from skillsv.report.marginals import Marginal, mean, steps_of
from skillsv.report.words import plural, points

_LEFT, _RIGHT, _TOP, _ROW = 72.0, 1096.0, 22.0, 17.0
_SMALL: dict[str, Number | str | None] = {"font_size": 10, "fill": MUTED}
_COUNT: dict[str, Number | str | None] = {"font_size": 10, "fill": "#fff"}
_NAME: dict[str, Number | str | None] = {"text_anchor": "end", "font_size": 11, "fill": MUTED}


def chain_grid(records: Sequence[ChainRecord]) -> Figure:
    """A row per chain and operator, a cell per scored prefix, stronger for a higher score; `┃` marks truncation."""
    longest = max((len(record.plan.order) for record in records), default=1)
    across = Scale(0, longest, _LEFT, _RIGHT)
    lanes = [(record, operator) for record in records for operator in record.plan.operators]
    parts = [_heading(longest, across)]
    rows: list[tuple[Cell, ...]] = []
    for index, (record, operator) in enumerate(lanes):
        parts.append(_lane(record, operator, _TOP + index * _ROW, across))
        rows += _cells(record, operator)
    height = _TOP + len(lanes) * _ROW + 6
    spoken = f"{plural(len(records), 'chain')}, {plural(len(rows), 'scored prefix')}".replace("prefixs", "prefixes")
    columns = ("chain", "operator", "units in", "added", "score", "scores by task")
    return Figure(
        name="chains",
        title="Scored prefixes",
        svg=drawing(1100, height, "Scored prefixes", spoken, *parts, class_="chains wide"),
        columns=columns,
        rows=rows,
        note="Left to right one unit more; a stronger colour is a higher score on the chain's window. A bar marks "
        "truncation: the prefix already scored like the whole skill, so the rest counts as zero.",
    )


def _heading(longest: int, across: Scale) -> Markup:
    first = element("text", "trigger", x=_LEFT, y=14, fill=MUTED, font_size=11)
    last = element("text", f"all {longest} units", x=across(longest), y=14, text_anchor="end", fill=MUTED, font_size=11)
    return element("g", first, last, class_="soft")


def _lane(record: ChainRecord, operator: Operator, y: float, across: Scale) -> Markup:
    trigger = record.trigger[record.plan.operators.index(operator)]
    name = element("text", f"{record.plan.index + 1} {operator}", x=_LEFT - 8, y=y + 11, **_NAME)
    levels: dict[int | None, str] = {}
    for position, scores in [(0, trigger), *((step.position, step.scores) for step in steps_of(record, operator))]:
        score = mean(scores)
        level = None if score is None else round(10 * score)
        levels[level] = levels.get(level, "") + _box(across, position, y)
    return element("g", name, *(_filled(level, boxes) for level, boxes in levels.items()), *_stop(record, y, across))


def _box(across: Scale, position: int, y: float) -> str:
    width = max(across(position + 1) - across(position) - 1, 0.8)
    return f"M{across(position):.1f} {y:.0f}h{width:.1f}v14h{-width:.1f}z"


def _filled(level: int | None, boxes: str) -> Markup:
    """All cells of a lane with the same score, to a tenth, as one path: thousands of cells stay light."""
    if level is None:
        return element("path", d=boxes, fill="none", stroke=MUTED, stroke_dasharray="2 2", class_="missing")
    return element("path", d=boxes, fill=POSITIVE, fill_opacity=0.06 + 0.084 * level, class_="cell")


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
    """The scores of a window in a few characters: 1 right, 0 wrong, · missing; spaced where some lie in between."""
    marks = ["·" if score is None else f"{score:.2g}".replace("0.", ".") for score in scores]
    return ("" if all(len(mark) == 1 for mark in marks) else " ").join(marks)


def marginal_dots(marginals: Sequence[Marginal], reach: float) -> Figure | None:
    """One unit's difference in every chain as dots, deletion above padding; zeros of truncated chains are counted."""
    known = [item for item in marginals if item.value is not None]
    if not known:
        return None
    operators = [operator for operator in Operator if any(item.operator is operator for item in known)]
    at = Scale(-reach, reach, 60, 352)
    height = 34 * len(operators) + 18
    parts = [element("line", x1=at(0), x2=at(0), y1=2, y2=height - 18, stroke=MUTED, class_="zero")]
    for lane, operator in enumerate(operators):
        parts += _dots([item for item in known if item.operator is operator], str(operator), at, 15 + 34 * lane)
    for end, anchor in ((-reach, "start"), (reach, "end")):
        parts.append(element("text", points(end), x=at(end), y=height - 4, text_anchor=anchor, **_SMALL))
    columns = ("chain", "operator", "units before", "difference", "truncated")
    rows = [(i.chain + 1, str(i.operator), i.position, i.value, "yes" if i.truncated else "no") for i in known]
    svg = drawing(360, height, "Difference in each chain", plural(len(known), "difference"), *parts, class_="dots")
    return Figure(name="marginals", title="Difference in each chain", svg=svg, columns=columns, rows=rows)


def _dots(items: Sequence[Marginal], name: str, at: Scale, y: float) -> list[Markup]:
    """One lane. Equal differences are one dot, its area their number, so that none hides another."""
    counts = Counter(round(at(item.value or 0.0)) for item in items if not item.truncated)
    lane = [element("text", name, x=0, y=y + 4, fill=MUTED, font_size=11, class_="soft")]
    for x, count in sorted(counts.items()):
        radius = min(2.6 * math.sqrt(count), 12.0)
        lane.append(element("circle", cx=x, cy=y, r=radius, fill=POSITIVE, fill_opacity=0.75, class_="dot"))
        if radius > 6:
            lane.append(element("text", str(count), x=x, y=y + 3.5, text_anchor="middle", **_COUNT, class_="count"))
    cut = sum(item.truncated for item in items)
    if cut:
        lane.append(element("text", f"+{cut} truncated", x=at(0) + 14, y=y + 15, **_SMALL, class_="soft"))
    return lane
