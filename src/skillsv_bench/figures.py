"""The paper's figures that compare methods or benchmarks: concentration, values by method, agreement of rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from skillsv.extend.figures import (
    DASHES,
    METHODS,
    MUTED,
    Cell,
    Figure,
    Scale,
    drawable,
    drawing,
    element,
    horizontal_axis,
    padded_range,
    path,
    vertical_axis,
)
from skillsv.model.concentration import BEST_SHARE, concentration, cumulative_gains
from skillsv.model.format import decimal, percent
from skillsv.model.value import Interval
from skillsv_bench.agreement import PooledAgreement
from skillsv_bench.results import Results

# Pixels of the drawing of concentration: the edges of the plot.
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 480.0, 24.0, 308.0

# Pixels of the drawings of rows: the height of a row, the width of the labels, of a column and of the gap after it.
_ROW, _LABELS, _COLUMN, _GAP = 20.0, 300.0, 150.0, 24.0


def concentration_figure(all_results: Sequence[Results]) -> Figure:
    """The share of all gains that the best units hold, one line per benchmark; a dotted line marks the best tenth."""
    across, up = Scale(0.0, 1.0, _LEFT, _RIGHT), Scale(0.0, 1.0, _BOTTOM, _TOP)
    tenth = element(
        "line",
        x1=across(BEST_SHARE),
        x2=across(BEST_SHARE),
        y1=_TOP,
        y2=_BOTTOM,
        stroke=MUTED,
        stroke_dasharray="2 3",
        class_="top",
    )
    units = element("text", "percent of units, best first →", x=_RIGHT, y=_BOTTOM + 34, text_anchor="end", fill=MUTED)
    gains = element("text", "percent of all gains ↑", x=_LEFT, y=_TOP - 6, fill=MUTED)
    parts = [vertical_axis(up, _LEFT, _RIGHT, signed=False), horizontal_axis(across, _TOP, _BOTTOM, signed=False)]
    parts += [tenth, units, gains]
    rows: list[tuple[Cell, ...]] = []
    for index, result in enumerate(all_results):
        shares = cumulative_gains(unit_values(result))[1:]
        parts.append(_gain_line(index, result, across, up))
        rows += [(result["title"], number / len(shares), share) for number, share in enumerate(shares, start=1)]
    return Figure(
        name="concentration",
        title="Concentration of value",
        svg=drawing(780, 358, "Concentration of value", "", *parts, class_="concentration"),
        columns=("benchmark", "share of units", "share of gains"),
        rows=rows,
        note="A gain is a positive net effect on panel A. The dotted line marks the best tenth of the units.",
    )


def unit_values(result: Results) -> dict[str, float]:
    """The net effects of all units; 0 for a unit without a value."""
    return {unit["id"]: unit["net"]["value"] or 0.0 for unit in result["valuation"]["units"]}


def _gain_line(index: int, result: Results, across: Scale, up: Scale) -> Markup:
    colour, dash = METHODS[index % len(METHODS)], DASHES[index % len(DASHES)]
    values = unit_values(result)
    shares, best = cumulative_gains(values)[1:], concentration(values)
    places = [(0.0, 0.0), *((number / len(shares), share) for number, share in enumerate(shares, start=1))]
    line = path([(across(x), up(y)) for x, y in places])
    look: dict[str, str | float | None] = {"stroke": colour, "stroke_width": 2, "stroke_dasharray": dash}
    y = _TOP + 12 + 36 * index
    said = "no unit has a positive value" if best is None else f"the best tenth holds {percent(best)}"
    return element(
        "g",
        element("path", d=line, fill="none", **look),
        element("line", x1=504, x2=528, y1=y, y2=y, **look),
        element("text", result["title"], x=534, y=y + 4),
        element("text", said, x=534, y=y + 18, fill=MUTED, class_="soft"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodColumn:
    """The values of one method by unit. A unit that is not there has no value."""

    title: str
    values: Mapping[str, Interval]


def methods_figure(
    units: Sequence[tuple[str, str]], columns: Sequence[MethodColumn], *, name: str, title: str, note: str
) -> Figure:
    """One row per unit (id, label), one column per method with a scale of its own: a dot and its interval."""
    bottom = 30.0 + _ROW * len(units)
    parts = [
        element("text", label, x=_LABELS - 12, y=_row(place) + 4, text_anchor="end")
        for place, (_, label) in enumerate(units)
    ]
    for number, column in enumerate(columns):
        left = _LABELS + number * (_COLUMN + _GAP)
        parts.append(_method_column(number, column, [unit for unit, _ in units], left, bottom))
    cells = ("value", "low", "high")
    rows = [(label, *_cells(unit, columns)) for unit, label in units]
    width = _LABELS + len(columns) * (_COLUMN + _GAP)
    return Figure(
        name=name,
        title=title,
        svg=drawing(width, bottom + 24, title, note, *parts, class_="methods"),
        columns=("unit", *(f"{column.title}, {cell}" for column in columns for cell in cells)),
        rows=rows,
        note=note,
    )


def _row(place: int) -> float:
    return 30.0 + _ROW * (place + 0.5)


def _method_column(number: int, column: MethodColumn, units: Sequence[str], left: float, bottom: float) -> Markup:
    colour = METHODS[number % len(METHODS)]
    shown = [(place, drawable(column.values[unit])) for place, unit in enumerate(units) if unit in column.values]
    ends = [end for _, value in shown for end in (value.low, value.high)]
    scale = Scale(*padded_range(ends, include=(0.0,)), left, left + _COLUMN)
    parts = [element("text", column.title, x=left, y=14), horizontal_axis(scale, 24.0, bottom)]
    for place, value in shown:
        y = _row(place)
        parts.append(
            element("line", x1=scale(value.low), x2=scale(value.high), y1=y, y2=y, stroke=colour, stroke_width=2)
        )
        parts.append(element("circle", cx=scale(value.value), cy=y, r=3.5, fill=colour))
    return element("g", *parts)


def _cells(unit: str, columns: Sequence[MethodColumn]) -> list[Cell]:
    cells: list[Cell] = []
    for column in columns:
        value = column.values.get(unit)
        cells += [None, None, None] if value is None else [value.value, value.low, value.high]
    return cells


def values_by_method_figure(result: Results) -> Figure:
    """The units of one skill, best first, as each method values them; the judge has a scale of its own."""
    units = sorted(result["valuation"]["units"], key=lambda unit: -(unit["net"]["value"] or 0.0))
    columns = [MethodColumn(title="SkillSV, net (delete)", values=_intervals(units, "net"))]
    if any(unit["content"] for unit in units):
        columns.append(MethodColumn(title="SkillSV, content (pad)", values=_intervals(units, "content")))
    columns.append(MethodColumn(title="Closure-LOO", values=_ranking(result["closure_loo"]["units"])))
    if result["judge"] is not None:
        columns.append(MethodColumn(title="LLM judge, of 100", values=_ranking(result["judge"]["units"])))
    return methods_figure(
        [(unit["id"], f"{unit['file']}:{unit['lines'][0]} {unit['id']}"[:44]) for unit in units],
        columns,
        name="methods",
        title="Units by method",
        note="Values of each unit on panel A in points, best first. Each method has a scale of its own.",
    )


def _intervals(units: Sequence[Results], field: str) -> dict[str, Interval]:
    found = {unit["id"]: unit[field] for unit in units}
    return _ranking({unit: value for unit, value in found.items() if value and value["value"] is not None})


def _ranking(values: Mapping[str, Mapping[str, float]]) -> dict[str, Interval]:
    return {unit: Interval(value["value"], value["low"], value["high"]) for unit, value in values.items()}


def agreement_figure(pairs: Sequence[PooledAgreement]) -> Figure:
    """Kendall's tau-b of every pair of methods; a filled dot where it differs from chance after Holm's correction."""
    bottom = 30.0 + _ROW * len(pairs)
    scale = Scale(-1.0, 1.0, _LABELS, _LABELS + 300.0)
    parts = [_tau_axis(scale, bottom)]
    for place, pair in enumerate(pairs):
        y = _row(place)
        label = f"{pair.benchmark}: {pair.first}, {pair.second}"
        parts.append(element("text", label, x=_LABELS - 12, y=y + 4, text_anchor="end"))
        if pair.tau is None or pair.p_holm is None:
            parts.append(element("text", "all tied", x=_LABELS + 314, y=y + 4, fill=MUTED))
            continue
        fill = METHODS[0] if pair.differs_from_chance else "none"
        parts.append(element("circle", cx=scale(pair.tau), cy=y, r=4, fill=fill, stroke=METHODS[0], stroke_width=1.6))
        said = f"{decimal(pair.tau, digits=2, signed=True)}, p {decimal(pair.p_holm, digits=3)}"
        parts.append(element("text", said, x=_LABELS + 314, y=y + 4))
    return Figure(
        name="agreement",
        title="Agreement of rankings",
        svg=drawing(_LABELS + 430.0, bottom + 24, "Agreement of rankings", "", *parts, class_="agreement"),
        columns=("benchmark", "first", "second", "tau-b", "p", "p (Holm, all pairs)"),
        rows=[(pair.benchmark, pair.first, pair.second, pair.tau, pair.p, pair.p_holm) for pair in pairs],
        note="Kendall's tau-b with ties kept; p by permutations that keep the ties, corrected over all pairs shown. "
        "A filled dot differs from chance at 5 %.",
    )


def _tau_axis(scale: Scale, bottom: float) -> Markup:
    parts = []
    for tick in (-1.0, -0.5, 0.0, 0.5, 1.0):
        x = scale(tick)
        parts.append(element("line", x1=x, x2=x, y1=24.0, y2=bottom, stroke=MUTED, opacity=0.3))
        number = decimal(tick, digits=1, signed=True)
        parts.append(element("text", number, x=x, y=bottom + 16, text_anchor="middle", font_size=11, fill=MUTED))
    return element("g", *parts, class_="axis")
