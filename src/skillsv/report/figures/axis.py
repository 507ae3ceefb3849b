"""What all drawings share: colours, shapes of verdicts, scales and axes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from skillsv.model.format import points
from skillsv.model.value import Action, Interval
from skillsv.report.figures.svg import Number, element
from skillsv.report.verdict_styles import NEGATIVE, POSITIVE, VERDICT_STYLES

# Colour-blind readers can tell these colours apart, and every verdict has a shape as well. The attributes of a drawing
# hold these colours of the light theme, so that a saved drawing is complete; the page's style sheet replaces them by
# class, so that one drawing serves both themes.

MUTED = "#5c6670"
"""Text and lines that are not data."""

FAINT = "#e3e7eb"
"""Grid lines and frames."""

VERDICT = {action: style.light for action, style in VERDICT_STYLES.items()}
"""The colour of each verdict in the light theme."""

METHODS = (POSITIVE, NEGATIVE, "#00756f", "#6d5a8a", "#5d666f")
"""Colours of pruning curves, in order."""

DASHES = (None, "7 4", "2 3", "9 3 2 3", "1 4")
"""Dashes of pruning curves, in order: a curve is never known by its colour alone."""

LEAST_WIDE_RANGE = 0.04
"""A scale that covers more than this share of the score has ticks at whole points; a smaller one needs a decimal."""


def marker(action: Action, x: float, y: float, size: float = 5.0) -> Markup:
    """The verdict's shape at a point."""
    colour, kind = VERDICT[action], f"mark v-{action}"
    hollow: dict[str, Number | str | None] = {"fill": "none", "stroke": colour, "class_": f"{kind} hollow"}
    match VERDICT_STYLES[action].shape:
        case "triangle":
            shape = f"M{x - size:.1f} {y - size * 0.8:.1f}h{2 * size:.1f}l{-size:.1f} {1.7 * size:.1f}z"
            return element("path", d=shape, fill=colour, class_=kind)
        case "diamond":
            shape = f"M{x:.1f} {y - size:.1f}l{size:.1f} {size:.1f}l{-size:.1f} {size:.1f}l{-size:.1f} {-size:.1f}z"
            return element("path", d=shape, stroke_width=1.6, **hollow)
        case "square":
            shape = f"M{x - size + 1:.1f} {y - size + 1:.1f}h{2 * size - 2:.1f}v{2 * size - 2:.1f}h{2 - 2 * size:.1f}z"
            return element("path", d=shape, stroke_width=1.6, **hollow)
        case "ring":
            return element("circle", cx=x, cy=y, r=size - 1, stroke_width=1.8, **hollow)
        case "half disc":
            disc = element("circle", cx=x, cy=y, r=size - 0.5, fill=colour, class_=kind)
            half = f"M{x:.1f} {y - size + 2:.1f}a{size - 2:.1f} {size - 2:.1f} 0 0 1 0 {2 * size - 4:.1f}z"
            return element("g", disc, element("path", d=half, fill="#fff", class_="hole"))
        case disc:
            radius = size / 2 if disc == "dot" else size - 0.5
            return element("circle", cx=x, cy=y, r=radius, fill=colour, class_=kind)


def interval_lines(action: Action, strokes: str, **attributes: Number | str | None) -> Markup:
    """The intervals of all units with one verdict as one path."""
    return element("path", d=strokes, stroke=VERDICT[action], fill="none", class_=f"arms v-{action}", **attributes)


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from the values `low..high` to the coordinates `start..stop`."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """The coordinate of a value."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.stop - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round numbers within the scale, about `count` of them."""
        raw = (self.high - self.low) / max(1, count)
        if raw <= 0:
            return [self.low]
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= raw)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]


def drawable(interval: Interval) -> Interval:
    """The interval within -1..1; an unknown value becomes 0, an unknown end becomes -1 or 1."""

    def limited(value: float, unknown: float) -> float:
        return max(-1.0, min(1.0, value)) if not math.isnan(value) else unknown

    return Interval(limited(interval.value, 0.0), limited(interval.low, -1.0), limited(interval.high, 1.0))


def largest_end(intervals: Iterable[Interval]) -> float:
    """The largest distance from zero of any end of the intervals: half the width of a shared axis."""
    ends = [abs(end) for interval in map(drawable, intervals) for end in (interval.low, interval.high)]
    return max(ends, default=0.0) or 1.0


def padded_range(
    values: Iterable[float], share: float = 0.06, *, include: tuple[float, ...] = ()
) -> tuple[float, float]:
    """The range of the values, wider at both ends by this share of it."""
    numbers = [*values, *include]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    margin = share * (high - low) or 0.05
    return low - margin, high + margin


def horizontal_axis(scale: Scale, top: float, bottom: float, *, signed: bool = True) -> Markup:
    """Grid lines with their numbers, in points, below the drawing; the line at zero is darker."""
    parts = []
    for tick in scale.ticks():
        x, zero = scale(tick), abs(tick) < 1e-12
        parts.append(_line(x, top, x, bottom, zero=zero))
        parts.append(_number(x, bottom + 16, points(tick, signed=signed, digits=_digits(scale)), anchor="middle"))
    return element("g", *parts, class_="axis")


def vertical_axis(scale: Scale, left: float, right: float, *, signed: bool = True) -> Markup:
    """Grid lines with their numbers, in points, left of the drawing; the line at zero is darker."""
    parts = []
    for tick in scale.ticks():
        y, zero = scale(tick), abs(tick) < 1e-12
        parts.append(_line(left, y, right, y, zero=zero))
        parts.append(_number(left - 8, y + 4, points(tick, signed=signed, digits=_digits(scale)), anchor="end"))
    return element("g", *parts, class_="axis")


def _digits(scale: Scale) -> int:
    return 0 if scale.high - scale.low > LEAST_WIDE_RANGE else 1


def _line(x1: float, y1: float, x2: float, y2: float, *, zero: bool) -> Markup:
    kind, stroke = ("zero", MUTED) if zero else ("grid", FAINT)
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, class_=kind)


def _number(x: float, y: float, text: str, *, anchor: str) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, font_size=11, fill=MUTED, class_="tick")
