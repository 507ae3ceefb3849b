"""Keep, compress, expendable, idle, harmful or unresolved: one action per unit, with the evidence in one sentence.

Delete is the verdict where no proof is needed: the agent gets the same bytes with and without the unit. An expendable
or idle unit may be deleted once a confirmation has proved it.
"""

from __future__ import annotations

from collections.abc import Mapping

from skillsv.decide.reached_files import find_reached_files
from skillsv.model.format import points, short_points, with_bounds
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import DELETABLE, REMOVABLE, Action, Estimate, Evidence, Interval, UnitValue, Verdict

_WORTHLESS = {
    Evidence.IDENTICAL: Action.DELETE,
    Evidence.NEGLIGIBLE: Action.EXPENDABLE,
    Evidence.EXPENDABLE: Action.EXPENDABLE,
    Evidence.IDLE: Action.IDLE,
}
"""The action on a unit that is worth nothing, or less than the resolution."""

_MISSED = 0.05
"""Chance that no task shows an effect which is as frequent as the sentence about an idle unit says."""

_MOST_NAMED = 3
"""Dependants that a reason names."""


def verdicts(compiled: CompiledSkill, estimate: Estimate, tokens: Mapping[str, int]) -> tuple[Verdict, ...]:
    """The verdict on every unit of the estimate, in its order. `tokens` are the units' lengths, by id."""
    alone = {unit.id: _alone(unit, estimate.resolution) for unit in estimate.units}
    actions = {unit: _with_dependants(compiled, unit, action, alone) for unit, action in alone.items()}
    waiting = _unresolved_files(compiled, estimate, actions)
    actions.update(dict.fromkeys(waiting, Action.UNRESOLVED))
    return tuple(
        Verdict(
            unit=unit.id,
            action=actions[unit.id],
            reason=_waiting_reason(unit, waiting[unit.id], estimate.resolution)
            if unit.id in waiting
            else _reason(compiled, unit, actions, estimate.resolution, tokens.get(unit.id, 0)),
        )
        for unit in estimate.units
    )


def _alone(unit: UnitValue, resolution: float) -> Action:
    """The action by the unit's own values (the paper's decision map)."""
    if unit.evidence is Evidence.IDENTICAL:
        return _WORTHLESS[unit.evidence]
    if _clearly_positive(unit.content, resolution) and _clearly_positive(unit.cost, resolution):
        return Action.COMPRESS
    if unit.evidence is Evidence.NEGATIVE:
        return Action.HARMFUL
    if unit.evidence is Evidence.POSITIVE:
        return Action.KEEP
    if unit.evidence in _WORTHLESS:
        return _WORTHLESS[unit.evidence]
    return Action.EXPENDABLE if unit.on_panel.high <= 0 else Action.UNRESOLVED


def _clearly_positive(interval: Interval | None, resolution: float) -> bool:
    """Whether the interval is above zero and the value large enough to report."""
    return interval is not None and interval.low > 0 and interval.value >= resolution


def _with_dependants(compiled: CompiledSkill, unit: str, action: Action, alone: Mapping[str, Action]) -> Action:
    """The action in view of the dependants, which are deleted with the unit: where one of them stays, it stays, too."""
    if action not in DELETABLE:
        return action
    remaining = {alone[other] for other in _dependants(compiled, unit) if other in alone} - REMOVABLE
    if not remaining:
        return action
    return Action.UNRESOLVED if remaining == {Action.UNRESOLVED} else Action.KEEP


def _unresolved_files(compiled: CompiledSkill, estimate: Estimate, actions: Mapping[str, Action]) -> dict[str, str]:
    """For each unit to delete that alone leads to a file of unresolved effect, this file: both go, or none."""
    values = {unit.id: unit for unit in estimate.units}
    waiting: dict[str, str] = {}
    for pointer, reached in find_reached_files(compiled, values).items():
        unresolved = [unit for unit in reached.units if actions.get(unit) is Action.UNRESOLVED]
        if actions[pointer] in DELETABLE and unresolved:
            waiting[pointer] = compiled.unit[unresolved[0]].file
    return waiting


def _dependants(compiled: CompiledSkill, unit: str) -> tuple[str, ...]:
    """All units that need the unit, in document order."""
    needing = compiled.reverse_closure(frozenset({unit})) - {unit}
    if not needing:
        return ()
    return tuple(other for other in compiled.execution if other in needing)


def _reason(
    compiled: CompiledSkill, unit: UnitValue, actions: Mapping[str, Action], resolution: float, tokens: int
) -> str:
    dependants = _dependants(compiled, unit.id)
    stay = tuple(other for other in dependants if actions.get(other) not in REMOVABLE)
    kept_for_others = actions[unit.id] is not _alone(unit, resolution)
    length = f"{tokens} token{'' if tokens == 1 else 's'}"
    if kept_for_others:
        return f"{_evidence(unit, resolution)} ({length}), but {_named(stay)} and would go with it."
    tail = f"; {_named(dependants)} and would go with it" if dependants and actions[unit.id] in REMOVABLE else ""
    if dependants and not tail:
        tail = f"; {_named(dependants)}"
    return f"{_evidence(unit, resolution)} ({length}){tail}."


def _waiting_reason(unit: UnitValue, file: str, resolution: float) -> str:
    return (
        f"{_evidence(unit, resolution)}, but only it leads to {file}, whose effect is not resolved: "
        "they are kept or deleted together."
    )


def _evidence(unit: UnitValue, resolution: float) -> str:
    """What was measured, with figures. With deletion alone it says so: content and cost are then unknown."""
    basis = "" if unit.content is not None else ", by deletion alone"
    net = f"net effect {with_bounds(unit.on_panel)} points on these tasks{basis}"
    content, cost = unit.content, unit.cost
    if unit.evidence is Evidence.IDENTICAL:
        return "Zero by construction: with or without it the agent gets the same bytes"
    if content is not None and cost is not None and _alone(unit, resolution) is Action.COMPRESS:
        return (
            f"Its content is worth {with_bounds(content)} points but its length costs {with_bounds(cost)} points: {net}"
        )
    if not unit.has_value:
        return "Too early: no rollout has told its effect apart from that of other units"
    sentence = {
        Evidence.POSITIVE: f"It helps: {net}",
        Evidence.NEGATIVE: f"It hurts: {net}",
        Evidence.NEGLIGIBLE: f"Shown to be about zero, within ±{short_points(resolution)} points: {net}",
        Evidence.EXPENDABLE: f"Worth less than {short_points(resolution)} points: {net}",
        Evidence.IDLE: _idle(unit),
        Evidence.UNRESOLVED: f"Not positive: {net}" if unit.on_panel.high <= 0 else f"Too uncertain to call: {net}",
    }
    return sentence[unit.evidence]


def _idle(unit: UnitValue) -> str:
    """What no change on any task says, and what it leaves open on new tasks (95 % bound on a rate never seen)."""
    if not unit.tasks:
        return "No effect on your tasks; on new ones it may have one"
    most = 1.0 - _MISSED ** (1.0 / unit.tasks)
    tasks = "your task" if unit.tasks == 1 else f"your {unit.tasks} tasks"
    return f"No effect on {tasks}; on new ones it may be worth up to {points(most, signed=False)} points"


def _named(units: tuple[str, ...]) -> str:
    more = len(units) - _MOST_NAMED
    named = ", ".join(units[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{named} {'needs' if len(units) == 1 else 'need'} it"
