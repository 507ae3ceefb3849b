"""Pruning curves on panel B, the pruning path that the values predict, and areas under curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from skillsv.model.edit import PruneStep, PruningCurve
from skillsv.model.format import percent, points, with_bounds
from skillsv.model.value import Action, Interval
from skillsv.report.figures.axis import (
    DASHES,
    FAINT,
    METHODS,
    MUTED,
    Scale,
    horizontal_axis,
    padded_range,
    vertical_axis,
)
from skillsv.report.figures.svg import Figure, drawing, element, path
from skillsv.report.line_names import LineNames

PATH_NOTE = (
    "At each step the lines go that lose least with what is left, so a line to keep can go early where another line "
    "says the same; the shorter skill deletes only what the verdicts delete."
)
"""Why the pruning path and the verdicts differ."""

# Pixels of both pruning drawings: the edges of the plot.
_LEFT = 64.0
_RIGHT = 560.0
_TOP = 16.0
_BOTTOM = 320.0

# Pixels of the chart of areas: the edges of the plot and the height of a row.
_AREAS_LEFT = 260.0
_AREAS_RIGHT = 640.0
_AREAS_TOP = 12.0
_AREAS_ROW = 26.0


def pruning_chart(
    curves: Sequence[PruningCurve],
    *,
    full: Interval | None = None,
    trigger: Interval | None = None,
    chosen: tuple[float, float] | None = None,
    chosen_label: str = "shorter skill",
) -> Figure:
    """Held-out score against the share of tokens removed, a band per method; V(N) and V({m}) as horizontal lines.

    `chosen` is the point of the shorter skill: the share of tokens removed, and its score.
    """
    ends = [end for curve in curves for point in curve.points for end in (point.score.low, point.score.high)]
    levels = [
        (name, level) for name, level in (("whole skill", full), ("frontmatter alone", trigger)) if level is not None
    ]
    ends += [*(level.value for _, level in levels), *([] if chosen is None else chosen[1:])]
    across, up = Scale(0.0, 1.0, _LEFT, _RIGHT), Scale(*padded_range(ends), _BOTTOM, _TOP)
    parts = [_share_axis(across), vertical_axis(up, _LEFT, _RIGHT, signed=False), _score_title("score on panel B")]
    parts += [_level(name, level, up) for name, level in levels]
    parts += [_curve(index, curve, across, up) for index, curve in enumerate(curves)]
    if chosen is not None:
        parts.append(_chosen(across(chosen[0]), up(chosen[1]), chosen_label))
    columns = ("method", "% removed", "tokens left", "score", "low", "high", "area under the curve")
    rows = [
        (curve.method, p.share_removed, p.tokens_left, p.score.value, p.score.low, p.score.high, curve.auc.value)
        for curve in curves
        for p in curve.points
    ]
    description = "; ".join(f"{curve.method}: area {with_bounds(curve.auc, signed=False)}" for curve in curves)
    svg = drawing(860, 372, "Pruning on panel B", description, *parts, class_="pruning")
    note = "Share of tokens removed, least valuable units first, against the score on tasks not used for the values."
    return Figure(name="pruning", title="Pruning on panel B", svg=svg, columns=columns, rows=rows, note=note)


def pruning_path(
    steps: Sequence[PruneStep],
    tokens: int,
    *,
    names: LineNames,
    actions: Mapping[str, Action],
    chosen: tuple[float, float] | None = None,
    measured: Interval | None = None,
) -> Figure:
    """What the values of panel A predict along the pruning path: value lost against tokens removed.

    `actions` are the verdicts by unit. `chosen` is the point of the shorter skill: the share of tokens removed, and
    the expected change; `measured` is the change that panel B confirmed for it.
    """
    places = [(0.0, 0.0), *((step.share_removed, -step.lost_value) for step in steps)]
    across, up = Scale(0.0, 1.0, _LEFT, _RIGHT), Scale(*padded_range([y for _, y in places]), _BOTTOM, _TOP)
    line = path([(across(x), up(y)) for x, y in places])
    stroke = element("path", d=line, fill="none", stroke=METHODS[0], stroke_width=2, class_="c-0")
    dots = [element("circle", cx=across(x), cy=up(y), r=3, fill=METHODS[0], class_="c-0 dot") for x, y in places]
    parts = [_share_axis(across), vertical_axis(up, _LEFT, _RIGHT), _score_title("expected change"), stroke, *dots]
    if chosen is not None:
        label = "shorter skill" if measured is None else "shorter skill, confirmed"
        parts.append(_chosen(across(chosen[0]), up(chosen[1]), label))
    rows = [
        (
            names.words(step.removed[0]) if len(step.removed) == 1 else names.lines(step.removed),
            ", ".join(dict.fromkeys(str(actions[unit]) for unit in step.removed if unit in actions)),
            step.tokens_left,
            step.share_removed,
            -step.lost_value,
        )
        for step in steps
    ]
    confirmed = (
        "none of it is confirmed on held-out tasks yet"
        if measured is None
        else f"the ringed version was run on panel B, where the score changed by {with_bounds(measured)} points"
    )
    return Figure(
        name="pruning-path",
        title="Pruning path, as the values predict it",
        svg=drawing(860, 372, "Pruning path", f"{len(steps)} removals of {tokens} tokens", *parts, class_="pruning"),
        columns=("removed", "verdict", "tokens left", "% removed", "expected change"),
        rows=rows,
        note=f"{PATH_NOTE} Changes are what the values of panel A predict; {confirmed}.",
    )


def _share_axis(across: Scale) -> Markup:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = across(tick)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=_BOTTOM, stroke=FAINT, class_="grid"))
        number = percent(tick)
        parts.append(element("text", number, x=x, y=_BOTTOM + 16, text_anchor="middle", font_size=11, fill=MUTED))
    title = element("text", "tokens removed, % of the skill →", x=_RIGHT, y=_BOTTOM + 36, text_anchor="end", fill=MUTED)
    return element("g", *parts, title, class_="axis")


def _score_title(text: str) -> Markup:
    turned = f"rotate(-90 14 {_TOP:.0f})"
    title = element("text", f"{text}, points →", x=14, y=_TOP, text_anchor="end", fill=MUTED, transform=turned)
    return element("g", title, class_="axis")


def _chosen(x: float, y: float, label: str) -> Markup:
    """The point of the shorter skill that the page proposes: a ring with its name."""
    ring = element("circle", cx=x, cy=y, r=7, fill="none", stroke=METHODS[1], stroke_width=2.5, class_="c-1 ring")
    return element("g", ring, element("text", label, x=x + 12, y=y - 8, font_weight="600"), class_="chosen")


def _level(name: str, level: Interval, up: Scale) -> Markup:
    y = up(level.value)
    line = element("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, stroke=MUTED, stroke_dasharray="4 4", class_="level")
    text = f"{name} {points(level.value, signed=False)}"
    return element("g", line, element("text", text, x=_RIGHT + 8, y=y + 4, fill=MUTED, class_="soft"))


def _curve(index: int, curve: PruningCurve, across: Scale, up: Scale) -> Markup:
    colour, dash = METHODS[index % len(METHODS)], DASHES[index % len(DASHES)]
    upper = [(across(p.share_removed), up(p.score.high)) for p in curve.points]
    lower = [(across(p.share_removed), up(p.score.low)) for p in reversed(curve.points)]
    middle = [(across(p.share_removed), up(p.score.value)) for p in curve.points]
    kind = f"c-{index % len(METHODS)}"
    band = element("path", d=path([*upper, *lower], closed=True), fill=colour, opacity=0.12, class_=f"{kind} band")
    line = element(
        "path", d=path(middle), fill="none", stroke=colour, stroke_width=2, stroke_dasharray=dash, class_=kind
    )
    y = _TOP + 8 + 34 * index
    sample = element(
        "line", x1=680, x2=704, y1=y, y2=y, stroke=colour, stroke_width=2, stroke_dasharray=dash, class_=kind
    )
    name = element("text", curve.method, x=710, y=y + 4)
    area = element("text", f"area {with_bounds(curve.auc, signed=False)}", x=710, y=y + 18, fill=MUTED, class_="soft")
    return element("g", band, line, sample, name, area)


def area_chart(
    rows: Sequence[tuple[str, Interval]], *, name: str = "areas", title: str, note: str, signed: bool = False
) -> Figure:
    """Areas under pruning curves, or their differences (`signed`): a dot and an interval per row."""
    ends = [end for _, area in rows for end in (area.low, area.high)]
    low, high = padded_range(ends, include=(0.0,) if signed else ())
    scale = Scale(low, high, _AREAS_LEFT, _AREAS_RIGHT)
    bottom = _AREAS_TOP + _AREAS_ROW * len(rows)
    parts = [horizontal_axis(scale, _AREAS_TOP, bottom, signed=signed)]
    for index, (label, area) in enumerate(rows):
        y, colour = _AREAS_TOP + _AREAS_ROW * (index + 0.5), METHODS[index % len(METHODS)]
        parts.append(element("text", label, x=_AREAS_LEFT - 12, y=y + 4, text_anchor="end"))
        parts.append(
            element("line", x1=scale(area.low), x2=scale(area.high), y1=y, y2=y, stroke=colour, stroke_width=2)
        )
        parts.append(element("circle", cx=scale(area.value), cy=y, r=4, fill=colour))
        parts.append(element("text", with_bounds(area, signed=signed), x=_AREAS_RIGHT + 14, y=y + 4))
    description = "; ".join(f"{label}: {with_bounds(area, signed=signed)}" for label, area in rows)
    return Figure(
        name=name,
        title=title,
        svg=drawing(860, bottom + 30, title, description, *parts, class_="areas"),
        columns=("line", "value", "low", "high"),
        rows=[(label, area.value, area.low, area.high) for label, area in rows],
        note=note,
    )
