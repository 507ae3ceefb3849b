"""Sums of unit values: over the whole skill (the closure check) and over sections of the document."""

from __future__ import annotations

import numpy as np

from skillsv.estimate.intervals import widened_interval
from skillsv.estimate.marginals import Floats
from skillsv.estimate.shared_noise import SharedNoise
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import UNKNOWN, Closure, Interval, SectionValue

ROUNDING = 1e-9
"""A gap between sum and lift that counts as rounding."""

SAME_SUM = 1e-5
"""A difference of two computations of the sum that counts as rounding: one may be in single precision."""


def closure_of(
    total: Interval, lift: Interval, *, resolution: float, gap: Interval | None = None, explained: float | None = None
) -> Closure:
    """Compare the sum of phi with the content lift Lambda; no ratio where the lift is below the resolution.

    `gap` is the sum minus the lift with its interval, None where the lift is not that of the whole panel. `explained`
    is the same sum computed from the scores without the values: if the two differ, the values are wrong.
    """
    ratio = total.value / lift.value if abs(lift.value) >= resolution else None
    if gap is None:
        return Closure(sum=total, lift=lift, ratio=ratio, covered=total.covers(lift.value))
    right = explained is None or abs(total.value - explained) <= SAME_SUM
    covered = right and gap.low <= ROUNDING and gap.high >= -ROUNDING
    return Closure(sum=total, lift=lift, ratio=ratio, covered=covered, gap=gap)


def sum_interval(change: Floats, values: Floats, *, answers: int, level: float, shared_noise: float) -> Interval:
    """The sum of some units' values. Its interval comes from the sums per chain: the units' bounds must not be added.

    A missing marginal is replaced by the unit's mean, so that the sum stays the sum of the values.
    """
    filled = np.where(np.isnan(change), values, change).sum(axis=1, keepdims=True)
    spread = widened_interval(filled, np.array([answers]), level=level, extra=shared_noise)
    return Interval(float(values.sum()), float(spread.low[0]), float(spread.high[0]))


def section_values(
    compiled: CompiledSkill, change: Floats, values: Floats, *, answers: int, level: float, shared_noise: SharedNoise
) -> tuple[SectionValue, ...]:
    """The sum of the net effects of the units below each section that has any; not a new estimate.

    `values` are NaN for units without a value. A section has no value where none of its units has one.
    """
    known = np.nan_to_num(values)
    rows = []
    for section, below in zip(compiled.sections, units_below(compiled), strict=True):
        if below:
            members = np.zeros(len(values), dtype=np.bool_)
            members[below] = True
            extra = shared_noise.sum_variance(members)
            net = sum_interval(change[:, below], known[below], answers=answers, level=level, shared_noise=extra)
            rows.append(SectionValue(path=section.path, net=UNKNOWN if np.isnan(values[below]).all() else net))
    return tuple(rows)


def units_below(compiled: CompiledSkill) -> list[list[int]]:
    """Columns of the execution units in each section's subtree.

    A unit with text in several sections counts in their common ancestors only.
    """
    homes: dict[str, set[int]] = {}
    for layout in compiled.layouts:
        for piece in layout.pieces:
            if piece.unit is not None:
                ancestors = _ancestors(compiled, piece.section)
                homes[piece.unit] = homes.get(piece.unit, ancestors) & ancestors
    below: list[list[int]] = [[] for _ in compiled.sections]
    for column, unit in enumerate(compiled.execution):
        for section in homes.get(unit, {0}):
            below[section].append(column)
    return below


def _ancestors(compiled: CompiledSkill, section: int) -> set[int]:
    ancestors = {section}
    parent = compiled.sections[section].parent
    while parent is not None:
        ancestors.add(parent)
        parent = compiled.sections[parent].parent
    return ancestors
