"""Pruning curves on panel B: how the score holds while units go, least valuable first."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from skillsv.model.edit import PruneStep, PruningCurve
from skillsv.model.value import Interval
from skillsv.report.figures.axis import DASHES, FAINT, METHODS, MUTED, Scale, horizontal_axis, padded, vertical_axis
from skillsv.report.figures.svg import Figure, drawing, element, path
from skillsv.report.format import points, with_bounds

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 560.0, 16.0, 320.0


def pruning_chart(
    curves: Sequence[PruningCurve], *, full: Interval | None = None, trigger: Interval | None = None
) -> Figure:
    """Held-out score against the share of tokens removed, a band per method; V(N) and V({m}) as level lines."""
    ends = [end for curve in curves for point in curve.points for end in (point.score.low, point.score.high)]
    levels = [(name, level) for name, level in (("V(N)", full), ("V({m})", trigger)) if level is not None]
    ends += [level.value for _, level in levels]
    across, up = Scale(0.0, 1.0, _LEFT, _RIGHT), Scale(*padded(ends), _BOTTOM, _TOP)
    parts = [_share_axis(across), vertical_axis(up, _LEFT, _RIGHT, signed=False)]
    parts += [_level(name, level, up) for name, level in levels]
    parts += [_curve(index, curve, across, up) for index, curve in enumerate(curves)]
    columns = ("method", "share removed", "tokens left", "score", "low", "high", "area under the curve")
    rows = [
        (curve.method, p.share_removed, p.tokens_left, p.score.value, p.score.low, p.score.high, curve.auc.value)
        for curve in curves
        for p in curve.points
    ]
    spoken = "; ".join(f"{curve.method}: area {with_bounds(curve.auc, signed=False)}" for curve in curves)
    svg = drawing(860, 372, "Pruning on panel B", spoken, *parts, class_="pruning")
    note = "Share of tokens removed, least valuable units first, against the score on tasks no value has seen."
    return Figure(name="pruning", title="Pruning on panel B", svg=svg, columns=columns, rows=rows, note=note)


def pruning_path(steps: Sequence[PruneStep], tokens: int) -> Figure:
    """What the values promise: value given up against tokens removed along the pruning path, from panel A alone."""
    places = [(0.0, 0.0), *((step.share_removed, -step.lost_value) for step in steps)]
    across, up = Scale(0.0, 1.0, _LEFT, _RIGHT), Scale(*padded([y for _, y in places]), _BOTTOM, _TOP)
    line = path([(across(x), up(y)) for x, y in places])
    stroke = element("path", d=line, fill="none", stroke=METHODS[0], stroke_width=2, class_="c-0")
    dots = [element("circle", cx=across(x), cy=up(y), r=3, fill=METHODS[0], class_="c-0 dot") for x, y in places]
    parts = [_share_axis(across), vertical_axis(up, _LEFT, _RIGHT), stroke, *dots]
    rows = [(step.unit, len(step.removed), step.tokens_left, step.share_removed, -step.lost_value) for step in steps]
    return Figure(
        name="pruning-path",
        title="Pruning path, as the values promise it",
        svg=drawing(860, 372, "Pruning path", f"{len(steps)} removals of {tokens} tokens", *parts, class_="pruning"),
        columns=("removed", "units removed", "tokens left", "share removed", "promised change"),
        rows=rows,
        note="Sums of values on panel A, least valuable first: a promise, not yet a proof on held-out tasks.",
    )


def _share_axis(across: Scale) -> Markup:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = across(tick)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=_BOTTOM, stroke=FAINT, class_="grid"))
        number = f"{tick:.0%}"
        parts.append(element("text", number, x=x, y=_BOTTOM + 16, text_anchor="middle", font_size=11, fill=MUTED))
    title = element("text", "tokens removed →", x=_RIGHT, y=_BOTTOM + 36, text_anchor="end", fill=MUTED)
    return element("g", *parts, title, class_="axis")


def _level(name: str, level: Interval, up: Scale) -> Markup:
    y = up(level.value)
    line = element("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, stroke=MUTED, stroke_dasharray="4 4", class_="level")
    word = f"{name} {points(level.value, signed=False)}"
    return element("g", line, element("text", word, x=_RIGHT + 8, y=y + 4, fill=MUTED, class_="soft"))


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
    area = element("text", f"AUC {with_bounds(curve.auc, signed=False)}", x=710, y=y + 18, fill=MUTED, class_="soft")
    return element("g", band, line, sample, name, area)


# Areas under pruning curves, and their differences: a point and an interval per line.

_AREAS_LEFT, _AREAS_RIGHT, _AREAS_TOP, _STEP = 260.0, 640.0, 12.0, 26.0


def area_chart(
    rows: Sequence[tuple[str, Interval]], *, name: str = "areas", title: str, note: str, signed: bool = False
) -> Figure:
    """One line per row; `signed` shows differences, around zero."""
    ends = [end for _, each in rows for end in (each.low, each.high)]
    low, high = padded(ends, include=(0.0,) if signed else ())
    scale = Scale(low, high, _AREAS_LEFT, _AREAS_RIGHT)
    bottom = _AREAS_TOP + _STEP * len(rows)
    parts = [horizontal_axis(scale, _AREAS_TOP, bottom, signed=signed)]
    for place, (label, each) in enumerate(rows):
        y, colour = _AREAS_TOP + _STEP * (place + 0.5), METHODS[place % len(METHODS)]
        parts.append(element("text", label, x=_AREAS_LEFT - 12, y=y + 4, text_anchor="end"))
        parts.append(
            element("line", x1=scale(each.low), x2=scale(each.high), y1=y, y2=y, stroke=colour, stroke_width=2)
        )
        parts.append(element("circle", cx=scale(each.value), cy=y, r=4, fill=colour))
        parts.append(element("text", with_bounds(each, signed=signed), x=_AREAS_RIGHT + 14, y=y + 4))
    spoken = "; ".join(f"{label}: {with_bounds(each, signed=signed)}" for label, each in rows)
    return Figure(
        name=name,
        title=title,
        svg=drawing(860, bottom + 30, title, spoken, *parts, class_="areas"),
        columns=("line", "value", "low", "high"),
        rows=[(label, each.value, each.low, each.high) for label, each in rows],
        note=note,
    )
