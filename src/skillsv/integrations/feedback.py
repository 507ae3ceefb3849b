"""Values of units as sentences for the model that rewrites a text."""

from __future__ import annotations

from collections.abc import Collection

import skillsv as sv
from skillsv.model.format import with_bounds

LONGEST = 80
"""Characters of a unit that its sentence quotes."""

HEADING = (
    "Measured value of each line of the current text, in points of a hundred of the score, with 95 % intervals. "
    "Lines that are not listed are unresolved: nothing is known about them."
)

ADVICE = {
    "keep": "helps; keep it",
    "compress": "its content helps and its length costs; say it in fewer words",
    "harmful": "does harm; remove or correct it",
    "delete": "has no effect; remove it or merge it into another line",
    "expendable": "has no effect that counts; remove it or merge it into another line",
    "idle": "changed no score; remove it or merge it into another line",
}
"""What is said of each verdict. Verdicts that are missing here say nothing about a unit."""


def describe_values(valuation: sv.Valuation, *, without: Collection[str] = ()) -> str:
    """The resolved units with value and advice, one a line; empty where nothing is resolved.

    `without` are the ids of units that the text no longer has.
    """
    lines = [
        f'- "{_quoted(unit.text)}": {with_bounds(unit.net)}; {ADVICE[unit.action]}'
        for unit in valuation.units
        if unit.action in ADVICE and unit.id not in without
    ]
    return "\n".join([HEADING, *lines]) if lines else ""


def _quoted(text: str) -> str:
    """The beginning of a unit, in one line."""
    words = " ".join(text.split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
