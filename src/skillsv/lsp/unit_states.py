"""Which units of the text are as they were valued: only these have the value of the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from skillsv.model.skill import CompiledSkill, Extent, Unit
from skillsv.model.valuation_document import UnitDocument
from skillsv.pipeline.stored_values import StoredValues


class UnitState(StrEnum):
    """What happened to a unit since the run."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"  # the text, or the heading above it, is another one
    ADDED = "added"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuedUnit:
    """One unit of the text. `value` is what the run says, None where the unit is not the one that was valued."""

    unit: Unit
    state: UnitState
    value: UnitDocument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuedText:
    """A skill as the editor shows it, beside the run of it. `units` are all units but the trigger, in document order.

    `edited`: something besides deletions that the run allows has changed since.
    """

    compiled: CompiledSkill
    values: StoredValues
    units: tuple[ValuedUnit, ...]
    edited: bool

    def in_file(self, path: str) -> Iterator[tuple[ValuedUnit, Extent]]:
        """The units of one file, with the place of each."""
        for valued in self.units:
            for extent in valued.unit.extents:
                if extent.file == path:
                    yield valued, extent


def compare_with_run(compiled: CompiledSkill, values: StoredValues) -> ValuedText:
    """The state of each unit. `compiled` is the text of today, compiled with the options of the run."""
    states = _states(compiled, values.compiled)
    units = tuple(
        ValuedUnit(
            unit=unit,
            state=states[unit.id],
            value=values.units.get(unit.id) if states[unit.id] is UnitState.UNCHANGED else None,
        )
        for unit in compiled.units
        if unit.id != compiled.trigger
    )
    missing = values.compiled.unit.keys() - compiled.unit.keys()
    changed = any(state is not UnitState.UNCHANGED for state in states.values())
    return ValuedText(compiled=compiled, values=values, units=units, edited=changed or not missing <= values.deletable)


def _states(now: CompiledSkill, valued: CompiledSkill) -> dict[str, UnitState]:
    """Ids hold a digest of the text. A unit with a new id where an old one is gone has changed; others were added."""
    before, after = [unit.id for unit in valued.units], [unit.id for unit in now.units]
    states: dict[str, UnitState] = {}
    for _, old_from, old_to, new_from, new_to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for number, unit in enumerate(after[new_from:new_to]):
            if unit in valued.unit and _content(now, unit) == _content(valued, unit):
                states[unit] = UnitState.UNCHANGED
            elif unit in valued.unit or number < old_to - old_from:
                states[unit] = UnitState.CHANGED
            else:
                states[unit] = UnitState.ADDED
    return states


def _content(compiled: CompiledSkill, unit: str) -> list[bytes | str]:
    """The bytes of a unit; for a file that is too large to hold in memory, its digest."""
    found: list[bytes | str] = []
    for extent in compiled.unit[unit].extents:
        file = compiled.skill.file(extent.file)
        found.append(file.digest if file.data is None else file.data[extent.span.start : extent.span.end])
    return found
