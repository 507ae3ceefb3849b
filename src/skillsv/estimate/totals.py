"""Sums of unit values: does everything add up to the lift, and where in the document does it lie."""

from __future__ import annotations

import numpy as np

from skillsv.estimate.intervals import honest_interval
from skillsv.estimate.marginals import Floats
from skillsv.estimate.shared_noise import SharedNoise
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Closure, Interval, SectionValue


def closure_of(total: Interval, lift: Interval, *, resolution: float) -> Closure:
    """Sum of phi against the content lift Lambda; no ratio where the lift is too small to divide by."""
    ratio = total.value / lift.value if abs(lift.value) >= resolution else None
    return Closure(sum=total, lift=lift, ratio=ratio, covered=total.covers(lift.value))


def sum_interval(change: Floats, values: Floats, *, answers: int, level: float, luck: float) -> Interval:
    """The sum of some units' values with the interval of its per-chain sums (they move together, so bounds do not add).

    A chain that says nothing about a unit counts with the unit's mean, so the sum stays the sum of the values.
    """
    filled = np.where(np.isnan(change), values, change).sum(axis=1, keepdims=True)
    spread = honest_interval(filled, np.array([answers]), level=level, extra=luck)
    return Interval(float(values.sum()), float(spread.low[0]), float(spread.high[0]))


def section_values(
    compiled: CompiledSkill, change: Floats, values: Floats, *, answers: int, level: float, luck: SharedNoise
) -> tuple[SectionValue, ...]:
    """The value tree: for every section with units below it the sum of their net effects, not a new estimate."""
    rows = []
    for section, below in zip(compiled.sections, units_below(compiled), strict=True):
        if below:
            members = np.zeros(len(values), dtype=np.bool_)
            members[below] = True
            net = sum_interval(
                change[:, below], values[below], answers=answers, level=level, luck=luck.variance(members)
            )
            rows.append(SectionValue(path=section.path, net=net))
    return tuple(rows)


def units_below(compiled: CompiledSkill) -> list[list[int]]:
    """Columns of the execution units in each section's subtree; a unit of several places counts where they meet."""
    homes: dict[str, set[int]] = {}
    for layout in compiled.layouts:
        for piece in layout.pieces:
            if piece.unit is not None:
                line = _ancestors(compiled, piece.section)
                homes[piece.unit] = homes.get(piece.unit, line) & line
    below: list[list[int]] = [[] for _ in compiled.sections]
    for column, unit in enumerate(compiled.execution):
        for section in homes.get(unit, {0}):
            below[section].append(column)
    return below


def _ancestors(compiled: CompiledSkill, section: int) -> set[int]:
    line = {section}
    parent = compiled.sections[section].parent
    while parent is not None:
        line.add(parent)
        parent = compiled.sections[parent].parent
    return line
