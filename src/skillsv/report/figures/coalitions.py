"""The coalitions that an adaptive run scored: mean score against the number of units."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from skillsv.model.coalition import AdaptiveReason, Coalition, Observation, Operator
from skillsv.model.format import plural
from skillsv.report.figures.axis import FAINT, METHODS, MUTED, Scale, vertical_axis
from skillsv.report.figures.svg import Figure, drawing, element
from skillsv.report.line_names import LineNames

REASONS: Mapping[str, str] = {
    AdaptiveReason.ANCHOR_EMPTY: "no skill",
    AdaptiveReason.ANCHOR_TRIGGER: "frontmatter alone",
    AdaptiveReason.ANCHOR_FULL: "whole skill",
    AdaptiveReason.ANCHOR_NULL_CHANGE: "whole skill with a change that means nothing",
    AdaptiveReason.PATTERN: "new set of deciding lines",
    AdaptiveReason.VERIFY: "check of a prediction",
    AdaptiveReason.SAMPLE: "check at random",
    AdaptiveReason.BISECT: "search for the deciding line",
    AdaptiveReason.PRIOR: "line that decided with another agent or text",
    AdaptiveReason.CHECK: "check beside the deciding line",
    AdaptiveReason.REPEAT: "repeat",
    AdaptiveReason.KNOWN: "scored before",
    AdaptiveReason.CLOSED_SET: "random lines",
    AdaptiveReason.NOISY_TASK: "random lines",
}
"""Why a partial skill was run, in words for readers of the page."""

# Pixels: the edges of the plot.
_LEFT = 64.0
_RIGHT = 884.0
_TOP = 16.0
_BOTTOM = 320.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredCoalition:
    """One coalition under one operator: its scores, and why it was run. Missing scores are left out."""

    coalition: Coalition
    operator: Operator
    scores: tuple[float, ...]
    why: tuple[str, ...]

    @property
    def mean(self) -> float:
        """The mean score on the tasks of this coalition; other coalitions may have other tasks."""
        return sum(self.scores) / len(self.scores)


def scored_coalitions(observations: Sequence[Observation]) -> list[ScoredCoalition]:
    """The observations by coalition and operator, the smallest coalition first."""
    scores: Mapping[tuple[Coalition, Operator], list[float]] = defaultdict(list)
    reasons: Mapping[tuple[Coalition, Operator], dict[str, None]] = defaultdict(dict)
    for item in observations:
        if item.score is not None:
            scores[item.coalition, item.operator].append(item.score)
            reasons[item.coalition, item.operator][item.why] = None
    coalitions = [
        ScoredCoalition(coalition=key[0], operator=key[1], scores=tuple(values), why=tuple(reasons[key]))
        for key, values in scores.items()
    ]
    units = frozenset[str]().union(*(item.coalition for item in coalitions))
    rank = {unit: place for place, unit in enumerate(sorted(units))}
    return sorted(
        coalitions, key=lambda item: (len(item.coalition), item.operator, _alphabetical_key(item.coalition, rank))
    )


def _alphabetical_key(coalition: Coalition, rank: Mapping[str, int]) -> bytes:
    """Sorts coalitions of one size as lists of their units in alphabetical order. `rank` is the rank of all units.

    Of two such coalitions the first in order has the first unit that they do not share.
    """
    absent = bytearray(b"\1" * len(rank))
    for place in map(rank.__getitem__, coalition):
        absent[place] = 0
    return bytes(absent)


def coalition_chart(observations: Sequence[Observation], everything: Coalition, names: LineNames) -> Figure:
    """A dot per coalition: number of units against mean score; the area of a dot is the number of tasks."""
    scored = scored_coalitions(observations)
    across, up = Scale(0, max(len(everything), 1), _LEFT, _RIGHT), Scale(-0.04, 1.04, _BOTTOM, _TOP)
    parts = [_units_axis(across), vertical_axis(up, _LEFT, _RIGHT, signed=False)]
    parts += [_dots(operator, index, scored, across, up) for index, operator in enumerate(Operator)]
    description = f"{plural(len(scored), 'partial skill')}, {plural(len(observations), 'rollout')}"
    return Figure(
        name="coalitions",
        title="Scored partial skills",
        svg=drawing(900, 372, "Scored partial skills", description, *parts, class_="coalitions decision-map"),
        columns=("units kept", "operator", "tasks", "mean score", "why", "lines"),
        rows=[_cells(item, everything, names) for item in scored],
        note="A dot is a partial skill; its area is the number of tasks it was run on. Dots of deletion are left of "
        "their number of units, dots of padding right of it. Dots may have different tasks, so compare the trend, not "
        "two single dots.",
    )


def _dots(operator: Operator, index: int, scored: Sequence[ScoredCoalition], across: Scale, up: Scale) -> Markup:
    colour, shift = METHODS[index], -3.0 if index == 0 else 3.0
    circles = [
        element(
            "circle",
            cx=round(across(len(item.coalition)) + shift, 1),
            cy=round(up(item.mean), 1),
            r=round(min(1.2 + 0.5 * math.sqrt(len(item.scores)), 8.0), 1),
        )
        for item in scored
        if item.operator is operator
    ]
    return element("g", *circles, fill=colour, fill_opacity=0.35, class_=f"c-{index} band")


def _units_axis(across: Scale) -> Markup:
    parts = []
    for tick in across.ticks(6):
        x = across(tick)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=_BOTTOM, stroke=FAINT, class_="grid"))
        parts.append(element("text", f"{tick:.0f}", x=x, y=_BOTTOM + 16, text_anchor="middle", fill=MUTED))
    title = element(
        "text", "units kept, frontmatter included →", x=_RIGHT, y=_BOTTOM + 38, text_anchor="end", fill=MUTED
    )
    return element("g", *parts, title, class_="axis", font_size=11)


def _cells(item: ScoredCoalition, everything: Coalition, names: LineNames) -> tuple[str | int | float, ...]:
    return (
        len(item.coalition),
        str(item.operator),
        len(item.scores),
        item.mean,
        ", ".join(dict.fromkeys(REASONS.get(why, why) for why in item.why)),
        _lines_of(item, everything, names),
    )


def _lines_of(item: ScoredCoalition, everything: Coalition, names: LineNames) -> str:
    """The lines of a coalition, or those it lacks, whichever list is shorter."""
    missing = everything - item.coalition
    if len(missing) < len(item.coalition):
        return "all" if not missing else f"all but {names.lines(missing)}"
    return names.lines(item.coalition) or ("frontmatter alone" if item.coalition else "none")
