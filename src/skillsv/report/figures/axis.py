"""Scales and ticks: from a number to a place on paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from skillsv.model.value import Action
from skillsv.report.figures.svg import Number, element
from skillsv.report.format import points

# Colours that stay apart for colour-blind readers: blue helps, orange harms, and every verdict has a shape as well.
# Attributes carry these light-theme colours, so that a saved drawing stands alone; the page's style sheet overrides
# them by class, which is how one drawing serves light and dark.

MUTED = "#5c6670"
FAINT = "#e3e7eb"
POSITIVE = "#0a6ab4"
NEGATIVE = "#c2500a"

VERDICT = {
    Action.KEEP: POSITIVE,
    Action.COMPRESS: "#00807a",
    Action.DELETE: "#68717a",
    Action.HARMFUL: NEGATIVE,
    Action.UNRESOLVED: "#7b6a94",
}

METHODS = (POSITIVE, NEGATIVE, "#00807a", "#7b6a94", "#68717a")
"""Colours of pruning curves, in order; each curve has its own dashes as well."""

DASHES = (None, "7 4", "2 3", "9 3 2 3", "1 4")


def marker(action: Action, x: float, y: float, size: float = 5.0) -> Markup:
    """The verdict's shape at a place: disc, half disc, ring, triangle, question mark's diamond."""
    colour, kind = VERDICT[action], f"mark v-{action}"
    if action is Action.HARMFUL:
        shape = f"M{x - size:.1f} {y - size * 0.8:.1f}h{2 * size:.1f}l{-size:.1f} {1.7 * size:.1f}z"
        return element("path", d=shape, fill=colour, class_=kind)
    if action is Action.UNRESOLVED:
        shape = f"M{x:.1f} {y - size:.1f}l{size:.1f} {size:.1f}l{-size:.1f} {size:.1f}l{-size:.1f} {-size:.1f}z"
        return element("path", d=shape, fill="none", stroke=colour, stroke_width=1.6, class_=f"{kind} hollow")
    if action is Action.DELETE:
        return element(
            "circle", cx=x, cy=y, r=size - 1, fill="none", stroke=colour, stroke_width=1.8, class_=f"{kind} hollow"
        )
    disc = element("circle", cx=x, cy=y, r=size - 0.5, fill=colour, class_=kind)
    if action is Action.COMPRESS:
        half = f"M{x:.1f} {y - size + 2:.1f}a{size - 2:.1f} {size - 2:.1f} 0 0 1 0 {2 * size - 4:.1f}z"
        return element("g", disc, element("path", d=half, fill="#fff", class_="hole"))
    return disc


def arms(action: Action, strokes: str, **attributes: Number | str | None) -> Markup:
    """The intervals of all units with one verdict as one path."""
    return element("path", d=strokes, stroke=VERDICT[action], fill="none", class_=f"arms v-{action}", **attributes)


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight map from `low..high` to `start..stop` on paper."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Where the value lies on paper."""
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


def padded(values: Iterable[float], share: float = 0.06, *, include: tuple[float, ...] = ()) -> tuple[float, float]:
    """The range of the values with a little air at both ends."""
    every = [*values, *include]
    low, high = min(every, default=0.0), max(every, default=1.0)
    air = share * (high - low) or 0.05
    return low - air, high + air


def horizontal_axis(scale: Scale, top: float, bottom: float, *, signed: bool = True) -> Markup:
    """Grid lines with their numbers, in points, below the drawing; zero is the stronger line."""
    parts = []
    for tick in scale.ticks():
        x, zero = scale(tick), abs(tick) < 1e-12
        parts.append(_line(x, top, x, bottom, zero=zero))
        parts.append(_number(x, bottom + 16, points(tick, signed=signed, digits=_digits(scale)), anchor="middle"))
    return element("g", *parts, class_="axis")


def vertical_axis(scale: Scale, left: float, right: float, *, signed: bool = True) -> Markup:
    """Grid lines with their numbers, in points, left of the drawing; zero is the stronger line."""
    parts = []
    for tick in scale.ticks():
        y, zero = scale(tick), abs(tick) < 1e-12
        parts.append(_line(left, y, right, y, zero=zero))
        parts.append(_number(left - 8, y + 4, points(tick, signed=signed, digits=_digits(scale)), anchor="end"))
    return element("g", *parts, class_="axis")


def _digits(scale: Scale) -> int:
    return 0 if scale.high - scale.low > 0.04 else 1


def _line(x1: float, y1: float, x2: float, y2: float, *, zero: bool) -> Markup:
    kind, stroke = ("zero", MUTED) if zero else ("grid", FAINT)
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, class_=kind)


def _number(x: float, y: float, text: str, *, anchor: str) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, font_size=11, fill=MUTED, class_="tick")
