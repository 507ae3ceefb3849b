"""Keep, compress, delete, harmful or unresolved: one action per unit, with the evidence in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from skillsv.model.format import short_points, with_bounds
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Action, Estimate, Evidence, Interval, UnitValue, Verdict

_REMOVABLE = frozenset({Action.DELETE, Action.HARMFUL})


def verdicts(compiled: CompiledSkill, estimate: Estimate, tokens: Mapping[str, int]) -> tuple[Verdict, ...]:
    """The verdict on every unit of the estimate, in its order. `tokens` are the units' lengths, by id."""
    alone = {unit.id: _alone(unit, estimate.resolution) for unit in estimate.units}
    actions = {unit: _with_dependants(compiled, unit, action, alone) for unit, action in alone.items()}
    return tuple(
        Verdict(
            unit=unit.id,
            action=actions[unit.id],
            reason=_reason(compiled, unit, actions, estimate.resolution, tokens.get(unit.id, 0)),
        )
        for unit in estimate.units
    )


def _alone(unit: UnitValue, resolution: float) -> Action:
    """The action the unit's own values call for (the paper's decision map)."""
    if unit.evidence is Evidence.IDENTICAL:
        return Action.DELETE
    if _clearly_positive(unit.content, resolution) and _clearly_positive(unit.cost, resolution):
        return Action.COMPRESS
    if unit.evidence is Evidence.NEGATIVE:
        return Action.HARMFUL
    if unit.evidence is Evidence.POSITIVE:
        return Action.KEEP
    if unit.evidence is Evidence.NEGLIGIBLE or unit.net.high <= 0:
        return Action.DELETE
    return Action.UNRESOLVED


def _clearly_positive(interval: Interval | None, resolution: float) -> bool:
    """Above zero for sure, and large enough to report."""
    return interval is not None and interval.low > 0 and interval.value >= resolution


def _with_dependants(compiled: CompiledSkill, unit: str, action: Action, alone: Mapping[str, Action]) -> Action:
    """Deleting a unit takes along all that need it, so a worthless unit that carries others stays with them."""
    if action is not Action.DELETE:
        return action
    carried = {alone[other] for other in _dependants(compiled, unit) if other in alone} - _REMOVABLE
    if not carried:
        return Action.DELETE
    return Action.UNRESOLVED if carried == {Action.UNRESOLVED} else Action.KEEP


def _dependants(compiled: CompiledSkill, unit: str) -> tuple[str, ...]:
    """Everything that would go with the unit, in document order."""
    gone = compiled.reverse_closure(frozenset({unit})) - {unit}
    return tuple(other for other in compiled.execution if other in gone)


def _reason(
    compiled: CompiledSkill, unit: UnitValue, actions: Mapping[str, Action], resolution: float, tokens: int
) -> str:
    dependants = _dependants(compiled, unit.id)
    stay = tuple(other for other in dependants if actions.get(other) not in _REMOVABLE)
    carries = actions[unit.id] is not _alone(unit, resolution)
    length = f"{tokens} token{'' if tokens == 1 else 's'}"
    if carries:
        return f"{_evidence(unit, resolution)} ({length}), but {_named(stay)} and would go with it."
    tail = f"; {_named(dependants)} and would go with it" if dependants and actions[unit.id] in _REMOVABLE else ""
    if dependants and not tail:
        tail = f"; {_named(dependants)}"
    return f"{_evidence(unit, resolution)} ({length}){tail}."


def _evidence(unit: UnitValue, resolution: float) -> str:
    """What was seen, with figures. With deletion alone it says so: nothing is known of content and cost."""
    basis = "" if unit.content is not None else ", by deletion alone"
    net = f"net effect {with_bounds(unit.net)} points{basis}"
    content, cost = unit.content, unit.cost
    if unit.evidence is Evidence.IDENTICAL:
        return "Zero by construction: with or without it the agent gets the same bytes"
    if content is not None and cost is not None and _alone(unit, resolution) is Action.COMPRESS:
        return (
            f"Its content is worth {with_bounds(content)} points but its length costs {with_bounds(cost)} points: {net}"
        )
    if unit.samples == 0:
        return "No chain ever tested it"
    sentence = {
        Evidence.POSITIVE: f"It helps: {net}",
        Evidence.NEGATIVE: f"It hurts: {net}",
        Evidence.NEGLIGIBLE: f"Shown to be about zero, within ±{short_points(resolution)} points: {net}",
        Evidence.UNRESOLVED: f"Not positive: {net}" if unit.net.high <= 0 else f"Too uncertain to call: {net}",
    }
    return sentence[unit.evidence]


def _named(units: tuple[str, ...]) -> str:
    shown = ", ".join(units[:3]) + (f" and {len(units) - 3} more" if len(units) > 3 else "")
    return f"{shown} {'needs' if len(units) == 1 else 'need'} it"
