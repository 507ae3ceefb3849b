"""The study as a drawing: error against rollouts, one panel a kind of noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from skillsv.benchmarks.estimators import arms
from skillsv.benchmarks.estimators.summary import Row
from skillsv.report.figures.axis import Scale
from skillsv.report.figures.palette import FAINT, MUTED, NEGATIVE, POSITIVE
from skillsv.report.figures.svg import drawing, element, path

PANEL, HEIGHT, MARGIN, TOP, BOTTOM = 190.0, 200.0, 46.0, 40.0, 44.0
CEILING = 2.0
"""Errors above twice the spread are drawn at the edge: they all say that a guess would have been better."""

SERIES = (
    ("auto", POSITIVE, "auto, "),
    ("Algorithm 1", NEGATIVE, "Algorithm 1, K="),
)


def draw(rows: Sequence[Row]) -> str:
    """An SVG with a panel per noise: rmse/sd falling with rollouts; the dashed line is the constant."""
    noises = list(dict.fromkeys(row.noise for row in rows))
    panels = [
        _panel(noise, [row for row in rows if row.noise == noise], MARGIN + place * PANEL)
        for place, noise in enumerate(noises)
    ]
    legend = [
        element("text", name, x=MARGIN + 110 * place, y=16, fill=colour, font_weight="bold")
        for place, (name, colour, _) in enumerate(SERIES)
    ]
    return str(
        drawing(
            MARGIN + PANEL * len(noises) + 12,
            TOP + HEIGHT + BOTTOM,
            "Error of unit values against rollouts",
            "Root mean square error over the spread of the true values, for the adaptive estimator and Algorithm 1.",
            *legend,
            *panels,
        )
    )


def _panel(noise: str, rows: Sequence[Row], left: float) -> Markup:
    across = Scale(math.log(300), math.log(16000), left, left + PANEL - 24)
    up = Scale(0.0, CEILING, TOP + HEIGHT, TOP)
    parts = [element("text", noise, x=left, y=TOP - 8, font_weight="bold")]
    for tick in (0.0, 0.5, 1.0, 1.5, 2.0):
        dashes = "4 3" if tick == 1.0 else None
        stroke = MUTED if tick == 1.0 else FAINT
        y = up(tick)
        parts.append(element("line", x1=left, x2=left + PANEL - 24, y1=y, y2=y, stroke=stroke, stroke_dasharray=dashes))
        parts.append(element("text", f"{tick:g}", x=left - 6, y=y + 4, text_anchor="end", font_size=10, fill=MUTED))
    for tick in (600, 2400, 9600):
        x = across(math.log(tick))
        parts.append(
            element("text", f"{tick}", x=x, y=TOP + HEIGHT + 16, text_anchor="middle", font_size=10, fill=MUTED)
        )
    for _, colour, prefix in SERIES:
        parts += _curve([row for row in rows if _belongs(row.arm, prefix)], across, up, colour)
    parts.append(element("text", "rollouts", x=left, y=TOP + HEIGHT + 34, font_size=11, fill=MUTED))
    return element("g", *parts)


def _belongs(arm: str, prefix: str) -> bool:
    return arm.startswith(prefix) and arm.removeprefix(prefix).isdigit() and arm != arms.UNTRUNCATED


def _curve(rows: Sequence[Row], across: Scale, up: Scale, colour: str) -> list[Markup]:
    points = [(across(math.log(row.rollouts.value)), up(min(row.error.value, CEILING))) for row in rows]
    parts = [element("path", d=path(points), fill="none", stroke=colour, stroke_width=2)] if points else []
    for row, (x, y) in zip(rows, points, strict=True):
        spread = row.error.error or 0.0
        ends = [up(min(max(row.error.value + sign * spread, 0.0), CEILING)) for sign in (-1, 1)]
        parts.append(element("line", x1=x, x2=x, y1=ends[0], y2=ends[1], stroke=colour))
        label = f"{row.arm}: rmse/sd {row.error}"
        parts.append(element("circle", element("title", label), cx=x, cy=y, r=3.5, fill=colour))
    return parts
