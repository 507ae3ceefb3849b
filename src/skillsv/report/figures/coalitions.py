"""Partial skills that an adaptive run scored: how the score grows with what is kept."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from skillsv.model.coalition import Coalition, Observation, Operator
from skillsv.report.figures.axis import FAINT, METHODS, MUTED, Scale, vertical_axis
from skillsv.report.figures.svg import Figure, drawing, element
from skillsv.report.format import plural

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 884.0, 16.0, 320.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One partial skill under one operator: its scores, and why they were wanted. A missing score is not counted."""

    coalition: Coalition
    operator: Operator
    scores: tuple[float, ...]
    why: tuple[str, ...]

    @property
    def mean(self) -> float:
        """The mean score on the tasks it was run on, which differ from one partial skill to the next."""
        return sum(self.scores) / len(self.scores)


def scored_coalitions(observations: Sequence[Observation]) -> list[Scored]:
    """The observations by partial skill and operator, smallest first."""
    scores: Mapping[tuple[Coalition, Operator], list[float]] = defaultdict(list)
    reasons: Mapping[tuple[Coalition, Operator], dict[str, None]] = defaultdict(dict)
    for item in observations:
        if item.score is not None:
            scores[item.coalition, item.operator].append(item.score)
            reasons[item.coalition, item.operator][item.why] = None
    found = [
        Scored(coalition=key[0], operator=key[1], scores=tuple(values), why=tuple(reasons[key]))
        for key, values in scores.items()
    ]
    return sorted(found, key=lambda each: (len(each.coalition), each.operator, sorted(each.coalition)))


def coalition_chart(observations: Sequence[Observation], everything: Coalition) -> Figure:
    """A dot per partial skill: units kept against mean score, its area the number of tasks it was scored on."""
    scored = scored_coalitions(observations)
    across, up = Scale(0, max(len(everything), 1), _LEFT, _RIGHT), Scale(-0.04, 1.04, _BOTTOM, _TOP)
    parts = [_units_axis(across), vertical_axis(up, _LEFT, _RIGHT, signed=False)]
    parts += [_dots(operator, index, scored, across, up) for index, operator in enumerate(Operator)]
    spoken = f"{plural(len(scored), 'partial skill')}, {plural(len(observations), 'rollout')}"
    return Figure(
        name="coalitions",
        title="Scored partial skills",
        svg=drawing(900, 372, "Scored partial skills", spoken, *parts, class_="coalitions decision-map"),
        columns=("units kept", "operator", "tasks", "mean score", "why", "units"),
        rows=[_cells(each, everything) for each in scored],
        note="A dot is a partial skill, its area the number of tasks it was run on; deletion left of its count, "
        "padding right. Dots stand on different tasks, so compare their drift, not single pairs.",
    )


def _dots(operator: Operator, index: int, scored: Sequence[Scored], across: Scale, up: Scale) -> Markup:
    colour, shift = METHODS[index], -3.0 if index == 0 else 3.0
    circles = [
        element(
            "circle",
            cx=round(across(len(each.coalition)) + shift, 1),
            cy=round(up(each.mean), 1),
            r=round(min(1.2 + 0.5 * math.sqrt(len(each.scores)), 8.0), 1),
        )
        for each in scored
        if each.operator is operator
    ]
    return element("g", *circles, fill=colour, fill_opacity=0.35, class_=f"c-{index} band")


def _units_axis(across: Scale) -> Markup:
    parts = []
    for tick in across.ticks(6):
        x = across(tick)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=_BOTTOM, stroke=FAINT, class_="grid"))
        parts.append(element("text", f"{tick:.0f}", x=x, y=_BOTTOM + 16, text_anchor="middle", fill=MUTED))
    title = element("text", "units kept, trigger included →", x=_RIGHT, y=_BOTTOM + 38, text_anchor="end", fill=MUTED)
    return element("g", *parts, title, class_="axis", font_size=11)


def _cells(each: Scored, everything: Coalition) -> tuple[str | int | float, ...]:
    return (
        len(each.coalition),
        str(each.operator),
        len(each.scores),
        each.mean,
        ", ".join(each.why),
        _named(each, everything),
    )


def _named(each: Scored, everything: Coalition) -> str:
    """Which units: by what is there or by what is missing, whichever is shorter; beyond four a number follows."""
    missing = sorted(everything - each.coalition)
    if len(missing) < len(each.coalition):
        return "all" if not missing else f"all but {_few(missing)}"
    return _few(sorted(each.coalition)) or "none"


def _few(units: Sequence[str], most: int = 4) -> str:
    """A few names, then how many more."""
    more = f" and {len(units) - most} more" if len(units) > most else ""
    return ", ".join(units[:most]) + more
