"""The verdicts of the last valuation of a skill, on units that did not change since."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from skillsv.api.changed_skills import SkillChange
from skillsv.api.run_place import default_folder
from skillsv.report.check_files import UNIT_VERDICTS, UnitVerdict
from skillsv.rollout import RunFolder


def last_verdicts(changes: Iterable[SkillChange]) -> dict[str, list[UnitVerdict]]:
    """The verdicts of the last valuation of each skill, in its usual run folder, on units that did not change since."""
    found = {}
    for change in changes:
        if change.new is not None:
            present = {unit.id: unit for unit in change.new.units}
            found[change.path] = [
                UnitVerdict(
                    file=present[unit.id].extents[0].file,
                    lines=(present[unit.id].extents[0].lines.first, present[unit.id].extents[0].lines.last),
                    action=unit.verdict,
                    reason=unit.reason,
                )
                for unit in _valued_units(RunFolder(default_folder(change.new.name)))
                if unit.id in present and unit.verdict in UNIT_VERDICTS
            ]
    return found


class _ValuedUnit(msgspec.Struct):
    """What is read of a unit in `valuation.json`."""

    id: str
    verdict: str
    reason: str


class _ValuedSkill(msgspec.Struct):
    """What is read of `valuation.json`."""

    units: list[_ValuedUnit]


def _valued_units(folder: RunFolder) -> list[_ValuedUnit]:
    """The units of the run in a folder; none where there is no run that can be read."""
    try:
        return msgspec.json.decode(folder.valuation.read_bytes(), type=_ValuedSkill).units
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return []
