"""Sets of units that may be deleted together: closed, and without the units that must stay."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from skillsv.errors import CoalitionError, SettingsError
from skillsv.model.skill import CompiledSkill, Unit, UnitKind, find_unit

DeletionSet = frozenset[str]
"""Units that are deleted together. Whatever needs one of them is in the set, and a file that nothing leads to then."""

KEPT_NAMES = (
    "Name a unit by its id, the beginning of it, or its number (rules/bullet-3); units by their file, by a section "
    "(Two, or Rules/Two for the one below Rules), or by a glob of these. 'skillsv compile' lists them."
)
"""What a person can name to keep units."""


def find_kept(compiled: CompiledSkill, names: Iterable[str]) -> frozenset[str]:
    """The units that must stay: those that a name or glob names, and all protected regions.

    A name is compared with the id of a unit, its file, and each part of the path of its section: a unit of
    `Title/Rules/Two` has the parts `Two`, `Rules/Two`, `Title/Rules` and so on. So a section is named by its own name
    or with some of those above it, and the sections below it stay, too. What fits exactly is taken; where nothing does,
    the name is a glob. Raises SettingsError for an empty name, and where nothing fits.
    """
    kept = {unit.id for unit in compiled.units if unit.kind is UnitKind.REGION}
    for name in names:
        if not name.strip():
            raise SettingsError("an empty name fits no unit.", hint=KEPT_NAMES)
        kept |= _find_fitting(compiled, name) or {_find_one(compiled, name)}
    return frozenset(kept)


def _find_fitting(compiled: CompiledSkill, name: str) -> set[str]:
    """The units that a name fits exactly; without any, those that it fits as a glob."""
    known = {unit.id: _names(unit) for unit in compiled.units}
    exact = {unit for unit, own in known.items() if name in own}
    return exact or {unit for unit, own in known.items() if any(fnmatch.fnmatchcase(one, name) for one in own)}


def _names(unit: Unit) -> set[str]:
    """The id of a unit, its file, and each part of the path of its section."""
    places = range(len(unit.section) + 1)
    return {unit.id, unit.file, *("/".join(unit.section[start:end]) for start, end in combinations(places, 2))}


def _find_one(compiled: CompiledSkill, name: str) -> str:
    """The unit that a name means which is no glob: the beginning of its id, or its number."""
    try:
        return find_unit(tuple(unit.id for unit in compiled.units), name)
    except CoalitionError as error:
        raise SettingsError(f"'{name}' fits no unit, or more than one.", hint=KEPT_NAMES) from error


def closures(compiled: CompiledSkill, kept: Iterable[str] = ()) -> Mapping[str, DeletionSet]:
    """For each unit that may go, the set that goes with it. A unit that a kept one needs may not go.

    A file goes with the first unit that leads to it, and so this unit stays where the file does: a file that nothing
    leads to would cost tokens, and no agent would open it.
    """
    must_stay = frozenset(kept)
    together = {unit: _going_with(compiled, unit) for unit in compiled.execution}
    return {unit: group for unit, group in together.items() if not group & must_stay}


def _going_with(compiled: CompiledSkill, unit: str) -> DeletionSet:
    group = compiled.reverse_closure(frozenset({unit}))
    pointers = compiled.first_pointers
    while files := frozenset().union(*(pointers[other] for other in group & pointers.keys())) - group:
        group = compiled.reverse_closure(group | files)
    return group


def prefixes(order: Sequence[str], groups: Mapping[str, DeletionSet]) -> Iterator[DeletionSet]:
    """The sets that arise when the units go in this order, each with what needs it; every set once, growing."""
    removed: DeletionSet = frozenset()
    for unit in order:
        if unit in groups and unit not in removed:
            removed |= groups[unit]
            yield removed


def candidate_sets(orders: Iterable[Sequence[str]], groups: Mapping[str, DeletionSet]) -> list[DeletionSet]:
    """All prefixes of all orders, without repeats."""
    return list(dict.fromkeys(removed for order in orders for removed in prefixes(order, groups)))


def neighbours(removed: DeletionSet, groups: Mapping[str, DeletionSet]) -> Iterator[DeletionSet]:
    """The sets with one group more, and the sets from which one unit is taken back with all that it needs."""
    for unit, group in groups.items():
        if unit not in removed:
            yield removed | group
    for unit in sorted(removed):
        yield frozenset(other for other in removed if unit not in groups[other])
