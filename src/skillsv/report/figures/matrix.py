"""The matrix of tasks and lines: which line raised or lowered the score of which task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from skillsv.model.format import plural
from skillsv.model.value import Action, UnitReport, Valuation
from skillsv.report.escape import escape_text
from skillsv.report.evidence import Evidence
from skillsv.report.figures.axis import FAINT, MUTED, VERDICT
from skillsv.report.figures.bars import LinkTarget, no_target
from skillsv.report.figures.svg import Cell, Figure, drawing, element, fit_text, link
from skillsv.report.sentences import execution_units, numbered_label, unit_label

# Pixels: the left edge of the cells, the space above them for the names of strata, the height of a row.
_LEFT = 330.0
_TOP = 30.0
_ROW = 20.0

_WIDTH = 1100.0
"""Pixels of the drawing."""

_WIDEST_CELL = 16.0
"""Pixels: with few tasks, cells are no wider than this."""

_MOST_UNITS = 80
"""Rows: beyond them, the lines that changed the fewest tasks are left out of the drawing; the table has them."""

_MOST_TASKS = 240
"""Columns: more would be thinner than three pixels."""

_LETTER = 6.5
"""Pixels of a letter in the name of a stratum."""

_SIGNS = ((Action.KEEP, "raised"), (Action.HARMFUL, "lowered"))
"""The colour of cells whose score rises, and of those whose score falls."""


def task_matrix(valuation: Valuation, evidence: Evidence, *, target: LinkTarget = no_target) -> Figure | None:
    """A row per line that changed a score, a column per task, tasks of one stratum together; None without changes."""
    changed = [unit for unit in execution_units(valuation) if _changes(evidence, unit.id)]
    if not changed:
        return None
    busiest = sorted(changed, key=lambda unit: -len(_changes(evidence, unit.id)))[:_MOST_UNITS]
    units = [unit for unit in changed if unit in busiest]
    tasks = _tasks(evidence, units)
    width = min(_WIDEST_CELL, (_WIDTH - _LEFT - 8) / len(tasks))
    place = {task: _LEFT + number * width for number, task in enumerate(tasks)}
    bottom = _TOP + _ROW * len(units)
    parts = [_strata(tasks, evidence.strata, place, width, bottom), _names(units, target), _lines(units, place, width)]
    parts += [_cells(units, evidence, place, width, sign) for sign in _SIGNS]
    description = f"{plural(len(units), 'line')}, {plural(len(tasks), 'task')}"
    rows: list[tuple[Cell, ...]] = [
        (unit_label(unit, 40), unit.lines.first, escape_text(task), escape_text(evidence.strata.get(task, "")), kind)
        for unit in changed
        for _, kind in _SIGNS
        for task in getattr(evidence.of(unit.id), kind)
    ]
    return Figure(
        name="tasks",
        title="Which line decides which task",
        svg=drawing(_WIDTH, bottom + 10, "Which line decides which task", description, *parts, class_="matrix wide"),
        columns=("unit", "line", "task", "stratum", "effect"),
        rows=rows,
        note="A blue cell: adding the line raised the score of the task at least once; an orange cell: it lowered it. "
        "Each comparison is one task with two partial skills that differ by this line alone."
        + (" The agent is noisy: some of these changes are chance." if evidence.noisy else "")
        + (" Lines that changed the fewest tasks are in the table only." if len(units) < len(changed) else ""),
    )


def _changes(evidence: Evidence, unit: str) -> tuple[str, ...]:
    found = evidence.of(unit)
    return (*found.raised, *found.lowered)


def _tasks(evidence: Evidence, units: Sequence[UnitReport]) -> list[str]:
    """All tasks that one of the units changed, by stratum and name."""
    tasks = {task for unit in units for task in _changes(evidence, unit.id)}
    return sorted(tasks, key=lambda task: (evidence.strata.get(task, ""), task))[:_MOST_TASKS]


def _strata(
    tasks: Sequence[str], strata: Mapping[str, str], place: Mapping[str, float], width: float, bottom: float
) -> Markup:
    """The name of each stratum above its tasks, where it fits, and a line where it begins."""
    groups: dict[str, list[str]] = {}
    for task in tasks:
        groups.setdefault(strata.get(task, ""), []).append(task)
    parts = []
    for name, members in groups.items():
        left, room = place[members[0]], width * len(members)
        parts.append(element("line", x1=left, x2=left, y1=_TOP - 22, y2=bottom, stroke=FAINT, class_="grid"))
        text = fit_text(escape_text(name), room - 4)
        if text and room > 4 * _LETTER:
            parts.append(element("text", text, x=left + 3, y=_TOP - 10))
    return element("g", *parts, fill=MUTED, font_size=11, class_="axis")


def _names(units: Sequence[UnitReport], target: LinkTarget) -> Markup:
    names = [
        link(
            target(unit.id),
            element("text", fit_text(numbered_label(unit, 48), _LEFT - 12), x=4, y=y + 14),
        )
        for unit, y in zip(units, _rows(units), strict=True)
    ]
    return element("g", *names, class_="names")


def _lines(units: Sequence[UnitReport], place: Mapping[str, float], width: float) -> Markup:
    right = max(place.values()) + width
    lines = "".join(f"M{_LEFT:.0f} {y + _ROW - 0.5:.1f}H{right:.1f}" for y in _rows(units))
    return element("path", d=lines, stroke=FAINT, fill="none", class_="grid")


def _cells(
    units: Sequence[UnitReport],
    evidence: Evidence,
    place: Mapping[str, float],
    width: float,
    sign: tuple[Action, str],
) -> Markup:
    """All cells of one sign as one path. A task that a line both raised and lowered has two halves."""
    action, kind = sign
    half = (_ROW - 5) / 2
    shape = ""
    for unit, y in zip(units, _rows(units), strict=True):
        found = evidence.of(unit.id)
        both = set(found.raised) & set(found.lowered)
        for task in getattr(found, kind):
            if task in place:
                top = y + 2 + (half if task in both and kind == "lowered" else 0)
                height = half if task in both else 2 * half
                across = max(1.0, width - 1)
                shape += f"M{place[task] + 0.5:.1f} {top:.1f}h{across:.1f}v{height:.1f}h{-across:.1f}z"
    return element("path", d=shape, fill=VERDICT[action], class_=f"v-{action}")


def _rows(units: Sequence[UnitReport]) -> list[float]:
    return [_TOP + _ROW * number for number in range(len(units))]
