"""Values with their intervals: the small bar beside a unit's text, the chart of all units, and the three anchors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from skillsv.model.format import points
from skillsv.model.value import Action, Interval, UnitReport, Valuation
from skillsv.report.figures.axis import (
    MUTED,
    VERDICT,
    Scale,
    drawable,
    horizontal_axis,
    interval_lines,
    marker,
    padded_range,
)
from skillsv.report.figures.svg import Cell, Figure, drawing, element, fit_text, link
from skillsv.report.sentences import execution_units, numbered_label, unit_label

LinkTarget = Callable[[str], str | None]
"""From a unit id to the address that a click on the unit opens; None: no link."""


_SCALE_ROOM = 44
"""Pixels between zero and an end of the scale from which the end has room for its number."""


def no_target(_unit: str) -> None:
    """No links: for a drawing outside the page."""


def margin_bar(interval: Interval, span: tuple[float, float], action: Action) -> Markup:
    """The value of one unit beside its text: a bar from zero, a line for the interval. All units share `span`."""
    at = Scale(*span, 4, 188)
    shown = drawable(interval)
    zero, value, low, high = (round(at(place)) for place in (0.0, shown.value, shown.low, shown.high))
    return element(
        "svg",
        element("path", d=f"M{zero} 0v32"),
        element("path", d=f"M{zero} 8H{value}v16H{zero}z", class_=f"v-{action}"),
        element("path", d=f"M{low} 16H{high}M{low} 10v12M{high} 10v12"),
        viewBox="0 0 192 32",
        class_="bar",
        aria_hidden="true",
    )


def margin_scale(span: tuple[float, float]) -> Markup:
    """The scale of the bars beside the text: its ends and zero, in points."""
    at = Scale(*span, 4, 188)
    ends = [("start", 0.0, span[0]), ("end", 192.0, span[1])]
    texts = [
        element("text", points(end, digits=0), x=x, y=20, text_anchor=anchor)
        for anchor, x, end in ends
        if abs(at(end) - at(0.0)) > _SCALE_ROOM
    ]
    zero = element("text", "0", x=max(8.0, min(184.0, at(0.0))), y=20, text_anchor="middle")
    tick = element("path", d=f"M{at(0.0):.0f} 26v6")
    return element("svg", *texts, zero, tick, viewBox="0 0 192 32", class_="bar scale", aria_hidden="true")


def value_chart(valuation: Valuation, *, target: LinkTarget = no_target, most: int = 60) -> Figure:
    """All units, best first, with intervals: phi under deletion. Beyond `most` units the middle is left out."""
    ranked = sorted(execution_units(valuation), key=lambda unit: -unit.value.net_or_zero.value)
    shown, gap = _first_and_last(ranked, most)
    row, left, right, top = 24, 372, 760, 8
    height = top + row * (len(shown) + bool(gap)) + 44
    ends = [end for unit in shown for end in (drawable(unit.value.on_panel).low, drawable(unit.value.on_panel).high)]
    scale = Scale(*padded_range(ends, include=(0.0,)), left, right)
    places = [top + row * (index + (bool(gap) and index >= gap)) + row / 2 for index in range(len(shown))]
    parts = [horizontal_axis(scale, top, height - 44), *_columns(shown, places, scale, target)]
    if gap:
        missing = f"… {len(ranked) - len(shown)} lines between, all in the table below …"
        parts.append(element("text", missing, x=left, y=top + row * gap + 15, fill=MUTED, class_="soft"))
    parts.append(
        element(
            "text", "net effect, points of score", x=right, y=height - 6, text_anchor="end", fill=MUTED, class_="soft"
        )
    )
    svg = drawing(900, height, "Units by value", f"{len(ranked)} units, best first", *parts, class_="value-chart")
    columns = ("unit", "id", "net", "low", "high", "tokens", "verdict")
    return Figure(
        name="values",
        title="Units by value",
        svg=svg,
        columns=columns,
        rows=[_cells(unit) for unit in ranked],
        note="Net effect of each line, best first, with its 95% interval.",
    )


def _first_and_last(ranked: list[UnitReport], most: int) -> tuple[list[UnitReport], int]:
    if len(ranked) <= most:
        return ranked, 0
    half = most // 2
    return [*ranked[:half], *ranked[-half:]], half


def _columns(units: Sequence[UnitReport], places: Sequence[float], scale: Scale, target: LinkTarget) -> list[Markup]:
    """Names, shapes with interval lines, numbers and verdicts; the elements of a group share its attributes."""
    lines: dict[Action, str] = {}
    names, marks, numbers, verdicts = [], [], [], []
    for unit, y in zip(units, places, strict=True):
        net, action = drawable(unit.value.on_panel), unit.verdict.action
        lines[action] = lines.get(action, "") + f"M{scale(net.low):.1f} {y:.0f}H{scale(net.high):.1f}"
        names.append(link(target(unit.id), element("text", fit_text(numbered_label(unit, 54), 356), x=360, y=y + 4)))
        if unit.value.has_value:
            marks.append(marker(action, scale(net.value), y))
        numbers.append(element("text", points(unit.value.on_panel.value), x=814, y=y + 4))
        verdicts.append(element("text", str(action), x=830, y=y + 4, fill=VERDICT[action], class_=f"v-{action}"))
    return [
        element("g", *names, text_anchor="end", class_="names"),
        *(interval_lines(action, strokes, stroke_width=2) for action, strokes in lines.items()),
        *marks,
        element("g", *numbers, text_anchor="end", class_="number"),
        *verdicts,
    ]


def _cells(unit: UnitReport) -> tuple[Cell, ...]:
    net, value = unit.value.on_panel, unit.value.on_panel.value if unit.value.has_value else None
    return unit_label(unit, 40), unit.id, value, net.low, net.high, unit.tokens, str(unit.verdict.action)


def anchor_chart(valuation: Valuation) -> Figure:
    """The three anchors on one line: no skill, its trigger alone, the whole skill."""
    anchors = valuation.estimate.anchors
    rows = (("no skill", anchors.empty), ("trigger alone", anchors.trigger), ("whole skill", anchors.full))
    scale = Scale(0.0, 1.0, 112, 420)
    parts = [horizontal_axis(scale, 4, 82, signed=False)]
    for index, (name, anchor) in enumerate(rows):
        y, strong = 18 + 26 * index, index == 2
        action, shown = (Action.KEEP if strong else Action.DELETE), drawable(anchor)
        parts.append(element("text", name, x=100, y=y + 4, text_anchor="end", class_="name"))
        parts.append(
            element("line", x1=scale(shown.low), x2=scale(shown.high), y1=y, y2=y, stroke=VERDICT[action],
                    stroke_width=2, class_=f"v-{action}")
        )  # fmt: skip
        parts.append(marker(action, scale(shown.value), y))
        number = points(anchor.value, signed=False)
        parts.append(element("text", number, x=470, y=y + 4, text_anchor="end", class_="number"))
    return Figure(
        name="anchors",
        title="Score with and without the skill",
        svg=drawing(480, 106, "Score with and without the skill", "Three scores with intervals", *parts),
        columns=("skill", "score", "low", "high"),
        rows=[(name, anchor.value, anchor.low, anchor.high) for name, anchor in rows],
        note="Mean score in points of 100 on panel A, with 95% intervals.",
    )
