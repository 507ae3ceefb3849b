"""The decision map of the paper: content value of each unit to the right, its context cost upwards."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from skillsv.model.format import points, with_bounds
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

_NAME_WIDTH = 190
"""Pixels that the name of a quadrant takes."""

_NAME_HEIGHT = 40
"""Pixels of height from which a quadrant has room for its name beside its units."""

_MOST_NUMBERS = 120
"""A map of more units has no line numbers: they would cover each other."""

_UnitCross = tuple[UnitReport, Interval, Interval]
"""A unit with its content value and its context cost, drawn as a cross."""


def decision_map(valuation: Valuation, *, target: LinkTarget = no_target) -> Figure | None:
    """Content value to the right, context cost upwards, a cross per unit; below the diagonal the net is positive.

    None where only one operator was run: then content and cost cannot be separated.
    """
    crosses = [
        (unit, drawable(unit.value.content), drawable(unit.value.cost))
        for unit in execution_units(valuation)
        if unit.value.content is not None and unit.value.cost is not None and not math.isnan(unit.value.content.value)
    ]
    if not crosses:
        return None
    gains = [end for _, gain, _ in crosses for end in (gain.low, gain.high)]
    costs = [end for _, _, cost in crosses for end in (cost.low, cost.high)]
    # Tiny costs must not look large: the axis covers at least a fifth of the largest content value.
    least = max(map(abs, gains)) / 5
    across = Scale(*padded_range(gains, include=(0.0,)), _LEFT, _RIGHT)
    up = Scale(*padded_range(costs, include=(-least, least)), _BOTTOM, _TOP)
    parts = [horizontal_axis(across, _TOP, _BOTTOM), vertical_axis(up, _LEFT, _RIGHT), _diagonal(across, up), _titles()]
    parts += [_quadrant_names(across, up)]
    parts += [_interval_lines(action, crosses, across, up) for action in Action]
    numbered = len(crosses) <= _MOST_NUMBERS
    parts += [_point(cross, (across, up), target, numbered=numbered) for cross in crosses]
    description = "Content value to the right, context cost upwards, one cross per unit, in points"
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
        note="Numbers are lines. Below the dashed line, what a line says is worth more than its length costs: net = "
        "content − cost.",
    )


def has_context_cost(valuation: Valuation) -> bool:
    """Whether the length of some unit changed the score, as far as numbers for people show it."""
    costs = [unit.value.cost for unit in execution_units(valuation)]
    return any(cost is not None and points(cost.value) not in {points(0.0), points(None)} for cost in costs)


def _interval_lines(action: Action, crosses: Sequence[_UnitCross], across: Scale, up: Scale) -> Markup:
    """The interval lines of all crosses with one verdict, as one path."""
    strokes = "".join(
        f"M{across(gain.low):.0f} {up(cost.value):.0f}H{across(gain.high):.0f}"
        f"M{across(gain.value):.0f} {up(cost.low):.0f}V{up(cost.high):.0f}"
        for unit, gain, cost in crosses
        if unit.verdict.action is action
    )
    return interval_lines(action, strokes, opacity=0.45)


def _point(cross: _UnitCross, plane: tuple[Scale, Scale], target: LinkTarget, *, numbered: bool) -> Markup:
    across, up = plane
    unit, gain, cost = cross
    action = unit.verdict.action
    description = f"{unit_label(unit, 40)}: content {with_bounds(gain)}, cost {with_bounds(cost)}, {action}"
    x, y = across(gain.value), up(cost.value)
    text = element("text", str(unit.lines.first), x=x + 8, y=y - 5, font_size=10, fill=MUTED, class_="soft")
    return link(target(unit.id), marker(action, x, y, 5.5), *([text] if numbered else []), label=description)


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
        "text", "content value, points →", x=_RIGHT, y=_BOTTOM + 40, text_anchor="end", fill=MUTED, class_="soft"
    )
    turned = f"rotate(-90 14 {_TOP})"
    beside = element("text", "context cost, points →", x=14, y=_TOP, text_anchor="end", fill=MUTED, transform=turned)
    return element("g", below, beside, class_="soft")


def _quadrant_names(across: Scale, up: Scale) -> Markup:
    """What the quadrants recommend, in their outer corners. Harmful content that costs nothing has no name.

    A quadrant that is too small for its name has none. Whether a unit is resolved is not seen from its quadrant: the
    shape of its mark says it.
    """
    x, y = across(0.0), up(0.0)
    right, left = _RIGHT - x > _NAME_WIDTH, x - _LEFT > _NAME_WIDTH
    above, below = y - _TOP > _NAME_HEIGHT, _BOTTOM - y > _NAME_HEIGHT
    names = [
        ("keep: content without cost", right and below, _RIGHT - 8, _BOTTOM - 10, "end"),
        ("compress: content that costs", right and above, _RIGHT - 8, _TOP + 18, "end"),
        ("delete: cost without content", left and above, _LEFT + 8, _TOP + 18, "start"),
    ]
    return element(
        "g",
        *(
            element("text", name, x=place, y=height, text_anchor=anchor, font_size=12, fill=MUTED, class_="soft")
            for name, fits, place, height, anchor in names
            if fits
        ),
        class_="quadrants",
    )


def _cells(unit: UnitReport, gain: Interval, cost: Interval) -> tuple[str | float, ...]:
    ends = (gain.value, gain.low, gain.high, cost.value, cost.low, cost.high)
    return unit.id, *ends, unit.value.net.value, str(unit.verdict.action)
