"""Areas under pruning curves, and their differences: a point and an interval per line."""

from __future__ import annotations

from collections.abc import Sequence

from skillsv.model.value import Interval
from skillsv.report.figures.axis import Scale, horizontal_axis, padded
from skillsv.report.figures.figure import Figure
from skillsv.report.figures.palette import METHODS
from skillsv.report.figures.svg import drawing, element
from skillsv.report.words import with_bounds

_LEFT, _RIGHT, _TOP, _STEP = 260.0, 640.0, 12.0, 26.0


def area_chart(
    rows: Sequence[tuple[str, Interval]], *, name: str = "areas", title: str, note: str, signed: bool = False
) -> Figure:
    """One line per row; `signed` shows differences, around zero."""
    ends = [end for _, each in rows for end in (each.low, each.high)]
    low, high = padded(ends, include=(0.0,) if signed else ())
    scale = Scale(low, high, _LEFT, _RIGHT)
    bottom = _TOP + _STEP * len(rows)
    parts = [horizontal_axis(scale, _TOP, bottom, signed=signed)]
    for place, (label, each) in enumerate(rows):
        y, colour = _TOP + _STEP * (place + 0.5), METHODS[place % len(METHODS)]
        parts.append(element("text", label, x=_LEFT - 12, y=y + 4, text_anchor="end"))
        parts.append(
            element("line", x1=scale(each.low), x2=scale(each.high), y1=y, y2=y, stroke=colour, stroke_width=2)
        )
        parts.append(element("circle", cx=scale(each.value), cy=y, r=4, fill=colour))
        parts.append(element("text", with_bounds(each, signed=signed), x=_RIGHT + 14, y=y + 4))
    spoken = "; ".join(f"{label}: {with_bounds(each, signed=signed)}" for label, each in rows)
    return Figure(
        name=name,
        title=title,
        svg=drawing(860, bottom + 30, title, spoken, *parts, class_="areas"),
        columns=("line", "value", "low", "high"),
        rows=[(label, each.value, each.low, each.high) for label, each in rows],
        note=note,
    )
