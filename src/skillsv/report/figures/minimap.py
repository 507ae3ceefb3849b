"""The minimap beside a long skill: one stroke per line, in the colour of its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from skillsv.model.value import Action
from skillsv.report.figures.axis import VERDICT
from skillsv.report.figures.svg import element

LEAST_UNITS = 40
"""A skill with fewer units fits a screen or two and needs no map."""


def minimap(actions: Sequence[Action]) -> Markup | None:
    """One row per unit in document order; None for a short skill. The script finds the unit at a click by its row."""
    if len(actions) < LEAST_UNITS:
        return None
    strokes: dict[Action, str] = {}
    for row, action in enumerate(actions):
        strokes[action] = strokes.get(action, "") + f"M0 {row}h10v.8h-10z"
    paths = [element("path", d=shape, fill=VERDICT[action], class_=f"v-{action}") for action, shape in strokes.items()]
    return element("svg", *paths, viewBox=f"0 0 10 {len(actions)}", preserveAspectRatio="none", aria_hidden="true")
