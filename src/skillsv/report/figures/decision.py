"""The decision map: content value of each unit against its context cost."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from skillsv.model.format import with_bounds
from skillsv.model.value import Action, Interval, UnitReport, Valuation
from skillsv.report.figures.axis import (
    FAINT,
    MUTED,
    Scale,
    drawable,
    horizontal_axis,
    interval_lines,
    marker,
    padded_range,
    vertical_axis,
)
from skillsv.report.figures.bars import LinkTarget, no_target
from skillsv.report.figures.svg import Figure, drawing, element, link, path
from skillsv.report.sentences import execution_units, unit_label

# Pixels: the edges of the plot.
_LEFT = 64
_RIGHT = 884
_TOP = 16
_BOTTOM = 432

_UnitCross = tuple[UnitReport, Interval, Interval]
"""A unit with its content value and its context cost, drawn as a cross."""


def decision_map(valuation: Valuation, *, target: LinkTarget = no_target) -> Figure | None:
    """Content value against context cost, a cross per unit; above the diagonal content is worth more than it costs.

    None where only one operator was run: then content and cost cannot be separated.
    """
    crosses = [
        (unit, drawable(unit.value.content), drawable(unit.value.cost))
        for unit in execution_units(valuation)
        if unit.value.content is not None and unit.value.cost is not None and unit.value.has_value
    ]
    if not crosses:
        return None
    gains = [end for _, gain, _ in crosses for end in (gain.low, gain.high)]
    costs = [end for _, _, cost in crosses for end in (cost.low, cost.high)]
    # Tiny costs must not look large: the axis covers at least a fifth of the largest content value.
    least = max(map(abs, gains)) / 5
    across = Scale(*padded_range(costs, include=(-least, least)), _LEFT, _RIGHT)
    up = Scale(*padded_range(gains, include=(0.0,)), _BOTTOM, _TOP)
    parts = [horizontal_axis(across, _TOP, _BOTTOM), vertical_axis(up, _LEFT, _RIGHT), _diagonal(across, up), _titles()]
    parts += [_interval_lines(action, crosses, across, up) for action in Action]
    parts += [_point(unit, gain, cost, (across, up), target) for unit, gain, cost in crosses]
    description = "Content value upwards, context cost to the right, one cross per unit"
    columns = (
        "unit",
        "content",
        "content low",
        "content high",
        "cost",
        "cost low",
        "cost high",
        "net",
        "verdict",
    )
    return Figure(
        name="decision-map",
        title="Content against cost",
        svg=drawing(900, 480, "Content against cost", description, *parts, class_="decision-map"),
        columns=columns,
        rows=[_cells(unit, gain, cost) for unit, gain, cost in crosses],
        note="Above the dashed line a unit's content is worth more than its length costs: net = content − cost.",
    )


def _interval_lines(action: Action, crosses: Sequence[_UnitCross], across: Scale, up: Scale) -> Markup:
    """The interval lines of all crosses with one verdict, as one path."""
    strokes = "".join(
        f"M{across(cost.low):.0f} {up(gain.value):.0f}H{across(cost.high):.0f}"
        f"M{across(cost.value):.0f} {up(gain.low):.0f}V{up(gain.high):.0f}"
        for unit, gain, cost in crosses
        if unit.verdict.action is action
    )
    return interval_lines(action, strokes, opacity=0.45)


def _point(unit: UnitReport, gain: Interval, cost: Interval, plane: tuple[Scale, Scale], target: LinkTarget) -> Markup:
    across, up = plane
    action = unit.verdict.action
    description = f"{unit_label(unit, 40)}: content {with_bounds(gain)}, cost {with_bounds(cost)}, {action}"
    return link(target(unit.id), marker(action, across(cost.value), up(gain.value), 5.5), label=description)


def _diagonal(across: Scale, up: Scale) -> Markup:
    low, high = max(across.low, up.low), min(across.high, up.high)
    line = path([(across(low), up(low)), (across(high), up(high))])
    dashed = element("path", d=line, stroke=MUTED, stroke_dasharray="5 4", fill="none", class_="diagonal")
    word = element("text", "net 0", x=across(high) - 6, y=up(high) + 14, text_anchor="end", fill=MUTED, class_="soft")
    frame = element(
        "rect", x=_LEFT, y=_TOP, width=_RIGHT - _LEFT, height=_BOTTOM - _TOP, fill="none", stroke=FAINT, class_="frame"
    )
    return element("g", frame, dashed, word)


def _titles() -> Markup:
    below = element(
        "text", "context cost, points →", x=_RIGHT, y=_BOTTOM + 40, text_anchor="end", fill=MUTED, class_="soft"
    )
    turned = f"rotate(-90 14 {_TOP})"
    beside = element("text", "content value, points →", x=14, y=_TOP, text_anchor="end", fill=MUTED, transform=turned)
    return element("g", below, beside, class_="soft")


def _cells(unit: UnitReport, gain: Interval, cost: Interval) -> tuple[str | float, ...]:
    ends = (gain.value, gain.low, gain.high, cost.value, cost.low, cost.high)
    return unit.id, *ends, unit.value.net.value, str(unit.verdict.action)
