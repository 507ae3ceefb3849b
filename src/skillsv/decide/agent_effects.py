"""What the values of several agents show: whom a unit helps or harms, where agents differ, what may go for all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from skillsv.decide.deletion_sets import DeletionSet, closures
from skillsv.model.matrix_document import AgentEffect, UnitPattern
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Estimate, Evidence, UnitReport, UnitValue

_SHOWN: dict[Evidence, AgentEffect] = {
    Evidence.POSITIVE: "helps",
    Evidence.NEGATIVE: "harms",
    Evidence.UNRESOLVED: "open",
}
"""Evidence that shows an effect, or leaves it open. All other evidence shows that the effect does not matter."""


def effect_of(value: UnitValue) -> AgentEffect:
    """What is shown of a unit for one agent."""
    return _SHOWN.get(value.evidence, "none")


def pattern_of(effects: Collection[AgentEffect]) -> UnitPattern:
    """What is shown of a unit for all agents together."""
    found = set(effects)
    if {"helps", "harms"} <= found:
        return "disagree"
    for effect in ("helps", "harms"):
        if effect in found:
            return f"{effect} {'all' if len(found) == 1 else 'some'}"  # type: ignore[return-value]
    return "none" if found == {"none"} else "open"


def find_disagreements(estimates: Sequence[Estimate], level: float) -> frozenset[str]:
    """The units for which a difference between two agents is shown, larger than the resolution of both.

    All pairs of agents on all units are compared, so the level is corrected for their number (Bonferroni). A unit that
    helps one agent and harms another is among them.
    """
    from scipy.special import ndtri  # type: ignore[import-untyped]

    values = [{unit.id: unit for unit in estimate.units} for estimate in estimates]
    units = [unit for unit in values[0] if all(unit in column for column in values)] if values else []
    comparisons = max(len(units) * len(estimates) * (len(estimates) - 1) // 2, 1)
    width = float(ndtri(1.0 - (1.0 - level) / 2 / comparisons))
    found = set()
    for unit in units:
        for one, other in combinations(range(len(estimates)), 2):
            first, second = values[one][unit], values[other][unit]
            if {effect_of(first), effect_of(second)} == {"helps", "harms"}:
                found.add(unit)
            if not (first.has_value and second.has_value):
                continue
            error = (first.standard_error**2 + second.standard_error**2) ** 0.5
            least = max(estimates[one].resolution, estimates[other].resolution, width * error)
            if abs(first.net.value - second.net.value) > least:
                found.add(unit)
    return frozenset(found)


def removal_orders(
    compiled: CompiledSkill, columns: Sequence[Sequence[UnitReport]], kept: Iterable[str]
) -> tuple[list[list[str]], Mapping[str, DeletionSet]]:
    """Orders in which units may go for all agents, and what goes with each: by the agent that values a unit most.

    `columns` holds the units of each agent. Those of `kept` stay, and those that some agent has no value for.
    """
    values = [{unit.id: unit.value for unit in column} for column in columns]
    tested = {unit for unit in values[0] if all(column[unit].has_value for column in values)}
    groups = {unit: group for unit, group in closures(compiled, kept).items() if group <= tested}
    length = {unit.id: max(unit.tokens, 1) for unit in columns[0]}

    def most(unit: str, errors: float) -> float:
        return max(column[unit].net.value + errors * column[unit].standard_error for column in values)

    keys = (
        lambda unit: most(unit, 0.0),
        lambda unit: most(unit, 1.0),
        lambda unit: most(unit, 2.0),
        lambda unit: most(unit, 1.0) / length[unit],
    )
    return [sorted(groups, key=key) for key in keys], groups
