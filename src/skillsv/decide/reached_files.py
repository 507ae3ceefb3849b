"""What only one unit leads to: files that come before their pointer in every order.

A pointer needs the file that it names, so the file enters first, when nothing leads to it yet: it is worth 0.0 by
construction, and the pointer has the value of both. So the two are shown, kept and deleted together.
"""

from __future__ import annotations

from collections.abc import Mapping

from skillsv.model.skill import CompiledSkill
from skillsv.model.value import ReachedFiles, UnitValue


def find_reached_files(compiled: CompiledSkill, values: Mapping[str, UnitValue]) -> dict[str, ReachedFiles]:
    """For each unit that alone leads to files, these files with the net effect of all of it."""
    reached: dict[str, ReachedFiles] = {}
    for unit in (unit for unit in compiled.execution if unit in compiled.leading and unit in values):
        units = compiled.unreached_without(frozenset({unit}))
        if units:
            ordered = tuple(other for other in compiled.execution if other in units)
            files = tuple(dict.fromkeys(compiled.unit[other].file for other in ordered))
            total = values[unit].net.value + sum(
                values[other].net_or_zero.value for other in ordered if other in values
            )
            reached[unit] = ReachedFiles(files=files, units=ordered, net=total)
    return reached
