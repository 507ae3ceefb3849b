"""A plain drawing for studies: lines over logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from skillsv.extend.figures import DASHES, FAINT, METHODS, MUTED, Figure, Scale, drawing, element, padded_range, path

# Pixels: the edges of the plot.
_LEFT = 70.0
_RIGHT = 560.0
_TOP = 16.0
_BOTTOM = 300.0

Series = Mapping[str, Sequence[tuple[float, float]]]
"""The points (x, y) of each line."""


def line_chart(name: str, title: str, series: Series, *, across: str, up: str) -> Figure:
    """Lines over positive x and y, both on a logarithmic axis; points that are not positive are left out."""
    shown = {label: [(x, y) for x, y in points if x > 0 and y > 0] for label, points in series.items()}
    xs = [x for points in shown.values() for x, _ in points]
    ys = [y for points in shown.values() for _, y in points]
    x_scale = Scale(math.log(min(xs, default=1)), math.log(max(xs, default=2)), _LEFT, _RIGHT)
    y_scale = Scale(*padded_range([math.log(y) for y in ys]), _BOTTOM, _TOP)
    parts = [_tick(x_scale(math.log(x)), f"{x:g}", vertical=True) for x in sorted(set(xs))]
    parts += [_tick(y_scale(math.log(y)), f"{y:.2g}", vertical=False) for y in _powers(ys)]
    for place, (label, points) in enumerate(shown.items()):
        colour, dash = METHODS[place % len(METHODS)], DASHES[place % len(DASHES)]
        line = path([(x_scale(math.log(x)), y_scale(math.log(y))) for x, y in points]) if points else ""
        parts.append(element("path", d=line, fill="none", stroke=colour, stroke_width=2, stroke_dasharray=dash))
        parts.append(element("text", label, x=_RIGHT + 14, y=_TOP + 12 + 18 * place, fill=colour))
    parts.append(element("text", f"{across} →", x=_RIGHT, y=_BOTTOM + 36, text_anchor="end", fill=MUTED))
    parts.append(element("text", f"↑ {up}", x=_LEFT, y=_BOTTOM + 36, fill=MUTED))
    rows = [(label, x, y) for label, points in series.items() for x, y in points]
    svg = drawing(760, 350, title, f"{up} against {across}", *parts)
    return Figure(name=name, title=title, svg=svg, columns=("line", across, up), rows=rows)


def _powers(values: Sequence[float]) -> list[float]:
    """The numbers 1, 2 and 5 times powers of ten within the range of the values."""
    if not values:
        return []
    exponents = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    ticks = [nice * 10.0**exponent for exponent in exponents for nice in (1, 2, 5)]
    return [tick for tick in ticks if min(values) <= tick <= max(values)]


def _tick(place: float, text: str, *, vertical: bool) -> Markup:
    if vertical:
        line = element("line", x1=place, x2=place, y1=_TOP, y2=_BOTTOM, stroke=FAINT)
        return element("g", line, element("text", text, x=place, y=_BOTTOM + 16, text_anchor="middle", fill=MUTED))
    line = element("line", x1=_LEFT, x2=_RIGHT, y1=place, y2=place, stroke=FAINT)
    return element("g", line, element("text", text, x=_LEFT - 8, y=place + 4, text_anchor="end", fill=MUTED))
