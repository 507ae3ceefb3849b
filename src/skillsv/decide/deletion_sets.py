"""Sets of units that may be deleted together: closed, and without the units that must stay."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence

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

    A name or glob is compared with the id of a unit, its file, its section with those above it (`Rules/Two`), and the
    section's own name (`Two`): it names all units of all sections with that name. Raises SettingsError where nothing
    fits.
    """
    kept = {unit.id for unit in compiled.units if unit.kind is UnitKind.REGION}
    for name in names:
        found = {unit.id for unit in compiled.units if _fits(unit, name)}
        kept |= found or {_find_one(compiled, name)}
    return frozenset(kept)


def _fits(unit: Unit, name: str) -> bool:
    sections = ("/".join(unit.section), *unit.section)
    return any(fnmatch.fnmatchcase(own, name) for own in (unit.id, unit.file, *sections))


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
