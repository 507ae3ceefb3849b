"""Two runs side by side: two versions of a skill, or one skill with two agents, unit by unit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from skillsv.model.value import Interval, UnitReport, Valuation


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitChange:
    """One unit in both runs, matched by id or by its text; None where a run does not have it."""

    before: str | None
    after: str | None
    matched: str
    net_before: Interval | None
    net_after: Interval | None
    change: Interval | None
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """The second run compared with the first; changes are second minus first."""

    lift_before: Interval
    lift_after: Interval
    lift_change: Interval
    full_change: Interval
    tokens_before: int
    tokens_after: int
    units: tuple[UnitChange, ...]


def side_by_side(first: Valuation, second: Valuation) -> SideBySide:
    """Match the units of two runs by id, then by text, and compute the differences of their values."""
    one, other = first.estimate, second.estimate
    return SideBySide(
        lift_before=one.content_lift,
        lift_after=other.content_lift,
        lift_change=difference(one.content_lift, other.content_lift),
        full_change=difference(one.anchors.full, other.anchors.full),
        tokens_before=int(first.skill["tokens"]),
        tokens_after=int(second.skill["tokens"]),
        units=tuple(_change(*pair) for pair in _match_units(first, second)),
    )


def difference(before: Interval, after: Interval) -> Interval:
    """Second minus first of two estimates that count as independent: distances to the bounds, added in quadrature.

    Two runs on the same tasks vary together, so the interval is too wide rather than too narrow. Where one of the two
    has no value, neither has the difference, and its bounds are the differences of the bounds.
    """
    value = after.value - before.value
    if math.isnan(value):
        return Interval(value, after.low - before.high, after.high - before.low)
    down = math.hypot(after.value - after.low, before.high - before.value)
    up = math.hypot(after.high - after.value, before.value - before.low)
    return Interval(value, value - down, value + up)


def _match_units(first: Valuation, second: Valuation) -> Iterator[tuple[UnitReport | None, UnitReport | None, str]]:
    """Pairs in the order of the first run, then units that only the second has. No unit is matched twice."""
    unmatched = {unit.id: unit for unit in second.units}
    partners: dict[str, tuple[UnitReport, str]] = {}
    for unit in first.units:
        if unit.id in unmatched:
            partners[unit.id] = (unmatched.pop(unit.id), "id")
    for unit in first.units:
        if unit.id in partners or not _words(unit):
            continue
        partner = next((other for other in unmatched.values() if _words(other) == _words(unit)), None)
        if partner is not None:
            partners[unit.id] = (unmatched.pop(partner.id), "text")
    for unit in first.units:
        yield (unit, *partners[unit.id]) if unit.id in partners else (unit, None, "gone")
    for unit in unmatched.values():
        yield None, unit, "new"


def _words(unit: UnitReport) -> tuple[str, ...]:
    return tuple(unit.text.split())


def _change(before: UnitReport | None, after: UnitReport | None, matched: str) -> UnitChange:
    return UnitChange(
        before=before.id if before else None,
        after=after.id if after else None,
        matched=matched,
        net_before=before.value.on_panel if before else None,
        net_after=after.value.on_panel if after else None,
        change=difference(before.value.on_panel, after.value.on_panel) if before and after else None,
        tokens_before=before.tokens if before else 0,
        tokens_after=after.tokens if after else 0,
    )
