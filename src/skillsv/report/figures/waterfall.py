"""The waterfall: from the score without the skill, over trigger and units, to the score with the whole skill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from skillsv.model.format import plural, points
from skillsv.model.value import Action, UnitReport, Valuation
from skillsv.report.figures.axis import MUTED, VERDICT, Scale, horizontal_axis, marker, padded_range
from skillsv.report.figures.bars import LinkTarget, no_target
from skillsv.report.figures.svg import Cell, Figure, drawing, element, fit_text, link
from skillsv.report.sentences import execution_units, numbered_label

# Pixels: the edges of the plot, the height of a row, half the height of a bar, the space below the plot.
_LEFT = 372.0
_RIGHT = 760.0
_TOP = 8.0
_ROW = 26.0
_HALF = 8.0
_BELOW = 44.0

_LABEL_LENGTH = 54
"""Characters of a unit's label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One row: the score before and after it. An anchor has no `change`; units without a value change it by NaN."""

    name: str
    before: float
    after: float
    number: str
    change: float | None = None
    action: Action | None = None
    unit: UnitReport | None = None
    explained: bool = True

    @property
    def colour(self) -> Action:
        """The verdict that gives the colour; a step without a verdict has the colour of its sign."""
        return self.action or (Action.HARMFUL if self.after < self.before else Action.KEEP)


def waterfall(valuation: Valuation, *, target: LinkTarget = no_target, most: int = 12) -> Figure:
    """The `most` units with the largest effects, the others as one bar; what no value explains is the last bar."""
    steps = _steps(valuation, most)
    bottom = _TOP + _ROW * len(steps)
    places = [_TOP + _ROW * (index + 0.5) for index in range(len(steps))]
    scale = Scale(*padded_range([end for step in steps for end in (step.before, step.after)]), _LEFT, _RIGHT)
    parts = [
        horizontal_axis(scale, _TOP, bottom, signed=False),
        element("g", *_names(steps, places, target), text_anchor="end", class_="names"),
        *(_shape(step, y, scale) for step, y in zip(steps, places, strict=True)),
        _connections(steps, places, scale),
        element("g", *_numbers(steps, places, scale), class_="number"),
        *_verdicts(steps, places),
        element("text", "score, points of 100", x=_RIGHT, y=bottom + 38, text_anchor="end", fill=MUTED, class_="soft"),
    ]
    description = "; ".join(f"{step.name} {step.number}" for step in steps)
    return Figure(
        name="waterfall",
        title="From no skill to the whole skill",
        svg=drawing(
            900,
            bottom + _BELOW,
            "From no skill to the whole skill",
            description,
            *parts,
            class_="waterfall value-chart",
        ),
        columns=("step", "id", "change", "score after", "verdict"),
        rows=[_cells(step) for step in steps],
        note=_note(steps),
    )


def _steps(valuation: Valuation, most: int) -> list[_Step]:
    """The rows of the drawing. Each begins at the score where the row before it ends."""
    anchors, units = valuation.estimate.anchors, execution_units(valuation)
    known = sorted((unit for unit in units if unit.value.has_value), key=lambda unit: -abs(unit.value.net.value))
    shown, others = known[: max(most, 0)], known[max(most, 0) :]
    steps = [_anchor("no skill", anchors.empty.value)]

    def add(name: str, change: float, unit: UnitReport | None = None, *, explained: bool = True) -> None:
        before, action = steps[-1].after, unit.verdict.action if unit else None
        steps.append(
            _Step(name=name, before=before, after=before + _or_zero(change), number=points(change),
                  change=change, action=action, unit=unit, explained=explained)
        )  # fmt: skip

    add("frontmatter (trigger)", valuation.estimate.trigger_value.value)
    for unit in shown:
        add(numbered_label(unit, _LABEL_LENGTH), unit.value.net.value, unit)
    if others:
        add(plural(len(others), "other line"), math.fsum(unit.value.net.value for unit in others))
    if unknown := len(units) - len(known):
        add(f"{plural(unknown, 'line')} not separated yet", math.nan)
    rest = anchors.full.value - steps[-1].after
    if math.isfinite(rest) and points(rest) != points(0.0):
        add("not explained", rest, explained=False)
    return [*steps, _anchor("whole skill", anchors.full.value, unknown=steps[-1].after)]


def _anchor(name: str, score: float, *, unknown: float = 0.0) -> _Step:
    """A measured score; where it is missing, it is drawn at `unknown`."""
    place = score if math.isfinite(score) else unknown
    return _Step(name=name, before=place, after=place, number=points(score, signed=False))


def _or_zero(change: float) -> float:
    return change if math.isfinite(change) else 0.0


def _is_anchor(step: _Step) -> bool:
    return step.change is None


def _names(steps: Sequence[_Step], places: Sequence[float], target: LinkTarget) -> list[Markup]:
    names = []
    for step, y in zip(steps, places, strict=True):
        weight = "600" if _is_anchor(step) else None
        text = element("text", fit_text(step.name, _LEFT - 16), x=_LEFT - 12, y=y + 4, font_weight=weight)
        names.append(link(target(step.unit.id) if step.unit else None, text))
    return names


def _shape(step: _Step, y: float, scale: Scale) -> Markup:
    """A disc or ring for an anchor, a bar for a change; the bar of what is not explained is hollow."""
    start, stop = scale(step.before), scale(step.after)
    if _is_anchor(step):
        return marker(Action.DELETE if step.name == "no skill" else Action.KEEP, stop, y, 6)
    colour = VERDICT[step.colour]
    bar = f"M{start:.2f} {y - _HALF:.1f}H{stop:.2f}v{2 * _HALF:.1f}H{start:.2f}z"
    if step.explained:
        return element("path", d=bar, fill=colour, class_=f"v-{step.colour}")
    return element(
        "path", d=bar, fill="none", stroke=colour, stroke_width=1.5, stroke_dasharray="3 2",
        class_=f"v-{step.colour} hollow",
    )  # fmt: skip


def _connections(steps: Sequence[_Step], places: Sequence[float], scale: Scale) -> Markup:
    """A line at each score from the row that reaches it to the row that begins there."""
    lines = "".join(
        f"M{scale(step.after):.2f} {y + (_HALF if _is_anchor(step) else -_HALF):.1f}"
        f"V{below + (-_HALF if _is_anchor(after) else _HALF):.1f}"
        for step, y, after, below in zip(steps, places, steps[1:], places[1:], strict=False)
    )
    return element("path", d=lines, fill="none", stroke=MUTED, class_="level")


def _numbers(steps: Sequence[_Step], places: Sequence[float], scale: Scale) -> list[Markup]:
    return [
        element("text", step.number, x=max(scale(step.before), scale(step.after)) + (11 if _is_anchor(step) else 6),
                y=y + 4, font_weight="600" if _is_anchor(step) else None)
        for step, y in zip(steps, places, strict=True)
    ]  # fmt: skip


def _verdicts(steps: Sequence[_Step], places: Sequence[float]) -> list[Markup]:
    return [
        element("text", str(step.action), x=830, y=y + 4, fill=VERDICT[step.action], class_=f"v-{step.action}")
        for step, y in zip(steps, places, strict=True)
        if step.action is not None
    ]


def _note(steps: Sequence[_Step]) -> str:
    note = (
        "Each bar begins at the score where the bar above it ends; the largest effects come first. A line has the "
        "colour of its verdict, any other bar the colour of its sign. Each number is rounded on its own."
    )
    gap = any(not step.explained for step in steps)
    return f"{note} Dashed: the part of the measured score that no value explains." if gap else note


def _cells(step: _Step) -> tuple[Cell, ...]:
    change = step.change if step.change is not None and math.isfinite(step.change) else None
    return step.name, step.unit.id if step.unit else "", change, step.after, str(step.action or "")
