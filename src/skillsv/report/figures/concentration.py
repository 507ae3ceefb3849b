"""Concentration of the gains: the share that the best units hold, against the share of units."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from skillsv.model.concentration import BEST_SHARE, CARRIED_SHARE, count_best, count_carriers, cumulative_gains
from skillsv.model.format import count, percent, plural, points
from skillsv.model.value import Action, UnitReport, Valuation
from skillsv.report.figures.axis import FAINT, METHODS, MUTED, VERDICT, Scale, horizontal_axis, vertical_axis
from skillsv.report.figures.bars import LinkTarget, no_target
from skillsv.report.figures.svg import Cell, Figure, drawing, element, link, path
from skillsv.report.sentences import execution_units, net_effects, unit_label

# Pixels: the edges of the plot, and the first line of the text beside it.
_LEFT = 64.0
_RIGHT = 560.0
_TOP = 16.0
_BOTTOM = 320.0
_TEXT_LEFT = 592.0
_TEXT_TOP = 84.0

_MOST_DOTS = 80
"""A chart of more units has no dots: they would overlap."""


def concentration_chart(valuation: Valuation, *, target: LinkTarget = no_target) -> Figure:
    """The cumulative share of the gains against the share of units, best first; the best tenth is marked."""
    ranked = sorted(execution_units(valuation), key=lambda unit: -unit.value.net_or_zero.value)
    values = net_effects(valuation)
    shares = cumulative_gains(values)
    across, up = Scale(0.0, 1.0, _LEFT, _RIGHT), Scale(0.0, 1.0, _BOTTOM, _TOP)
    parts = [horizontal_axis(across, _TOP, _BOTTOM, signed=False), vertical_axis(up, _LEFT, _RIGHT, signed=False)]
    parts += [_titles(), _diagonal(across, up)]
    sentences = ["No unit has a positive value."]
    if shares:
        places = [(across(number / len(ranked)), up(share)) for number, share in enumerate(shares)]
        best = count_best(len(ranked))
        parts += [_best(places[best], shares[best]), _curve(places), *_dots(ranked, shares, places, target)]
        sentences = _sentences(len(ranked), best, shares[best], count_carriers(values))
    parts += [
        element("text", sentence, x=_TEXT_LEFT, y=_TEXT_TOP + 20 * index) for index, sentence in enumerate(sentences)
    ]
    title = "Concentration of the gains"
    return Figure(
        name="concentration",
        title=title,
        svg=drawing(900, 368, title, " ".join(sentences), *parts, class_="concentration pruning"),
        columns=("rank", "unit", "id", "net", "% of lines", "% of gains"),
        rows=[_cells(number, unit, len(ranked), shares) for number, unit in enumerate(ranked, start=1)],
        note=_note(ranked),
    )


def _sentences(units: int, best: int, share: float, carriers: int) -> list[str]:
    total = plural(units, "line")
    return [
        f"Best {percent(BEST_SHARE)}: {count(best)} of {total}, {percent(share)} of all gains.",
        f"{percent(CARRIED_SHARE)} of the gains: {count(carriers)} of {total}.",
    ]


def _titles() -> Markup:
    below = element("text", "lines, best first, % →", x=_RIGHT, y=_BOTTOM + 38, text_anchor="end", fill=MUTED)
    turned = f"rotate(-90 14 {_TOP:.0f})"
    beside = element("text", "share of all gains, % →", x=14, y=_TOP, text_anchor="end", fill=MUTED, transform=turned)
    return element("g", below, beside, class_="axis")


def _diagonal(across: Scale, up: Scale) -> Markup:
    """The curve of units that all gain the same."""
    line = path([(across(0.0), up(0.0)), (across(1.0), up(1.0))])
    dashed = element("path", d=line, fill="none", stroke=MUTED, stroke_dasharray="5 4", class_="diagonal")
    word = element("text", "equal gains", x=across(0.8) + 10, y=up(0.8) + 30, fill=MUTED, class_="soft")
    frame = element(
        "rect", x=_LEFT, y=_TOP, width=_RIGHT - _LEFT, height=_BOTTOM - _TOP, fill="none", stroke=FAINT, class_="frame"
    )
    return element("g", frame, dashed, word)


def _best(place: tuple[float, float], share: float) -> Markup:
    """The point of the best tenth, with lines to both axes."""
    x, y = place
    lines = element(
        "path", d=f"M{x:.1f} {_BOTTOM:.0f}V{y:.1f}H{_LEFT:.0f}", fill="none", stroke=MUTED, stroke_dasharray="2 3",
        class_="level",
    )  # fmt: skip
    ring = element(
        "circle", cx=x, cy=y, r=7, fill="none", stroke=VERDICT[Action.KEEP], stroke_width=2,
        class_=f"hollow v-{Action.KEEP}",
    )  # fmt: skip
    word = element("text", percent(share), x=x + 12, y=y + 16, font_weight="600", class_="number")
    return element("g", lines, ring, word, class_="best")


def _curve(places: Sequence[tuple[float, float]]) -> Markup:
    return element("path", d=path(places), fill="none", stroke=METHODS[0], stroke_width=2, class_="c-0")


def _dots(
    ranked: Sequence[UnitReport], shares: Sequence[float], places: Sequence[tuple[float, float]], target: LinkTarget
) -> list[Markup]:
    """A dot for each unit with a gain, at the share that it and the better units hold."""
    gaining = [unit for unit in ranked if unit.value.net_or_zero.value > 0] if len(ranked) <= _MOST_DOTS else []
    return [
        link(
            target(unit.id),
            element("circle", cx=x, cy=y, r=2.5, fill=METHODS[0], class_="c-0 dot"),
            label=f"{unit_label(unit, 40)}: {points(unit.value.net.value)}, {percent(share)} with all better units",
        )
        for unit, share, (x, y) in zip(gaining, shares[1:], places[1:], strict=False)
    ]


def _note(ranked: Sequence[UnitReport]) -> str:
    unknown = sum(not unit.value.has_value for unit in ranked)
    early = f" {plural(unknown, 'unit')} without a value yet: counted as no gain." if unknown else ""
    return (
        f"The gain of a line is its net effect where that is positive. The ring is the best tenth of the lines.{early}"
    )


def _cells(number: int, unit: UnitReport, units: int, shares: Sequence[float]) -> tuple[Cell, ...]:
    net = unit.value.net.value if unit.value.has_value else None
    return number, unit_label(unit, 40), unit.id, net, number / units, shares[number] if shares else None
