"""Which coalitions may be rendered: known units only, and closed under what they need (F in the paper)."""

from __future__ import annotations

from collections.abc import Iterable

from skillsv.errors import CoalitionError
from skillsv.model.coalition import Coalition
from skillsv.model.skill import CompiledSkill


class Coalitions:
    """Coalitions of one skill as bits of a number, one bit per unit; the members of a composite share its bit."""

    def __init__(self, compiled: CompiledSkill) -> None:
        self.compiled = compiled
        self.bits: dict[str, int] = {}
        for place, unit in enumerate(compiled.units):
            for name in (unit.id, *unit.members):
                self.bits.setdefault(name, 1 << place)
        self._needs = {unit: self._mask(needs) for unit, needs in compiled.needs.items()}

    def _mask(self, units: Iterable[str]) -> int:
        mask = 0
        for unit in units:
            mask |= self.bits[unit]
        return mask

    def kept(self, coalition: Coalition) -> int:
        """The coalition's bits; complains about units the skill has not, and about needed units that are missing."""
        require_known(self.compiled, coalition)
        kept = self._mask(coalition)
        if any(self._needs[unit] & ~kept for unit in coalition):
            raise self._not_closed(coalition)
        return kept

    def _not_closed(self, coalition: Coalition) -> CoalitionError:
        missing = self.compiled.closure(coalition) - coalition
        names = [unit.id for unit in self.compiled.units if unit.id in missing]
        return CoalitionError(
            f"The coalition is not closed: needed but not kept: {', '.join(names)}.",
            hint="Keep these, too, or drop what needs them.",
        )


def require_known(compiled: CompiledSkill, units: Coalition) -> None:
    """Complain about names that are no units of the skill."""
    unknown = sorted(units - compiled.everything)
    if unknown:
        hint = "List the units with 'skillsv compile'."
        raise CoalitionError(f"The skill has no unit {', '.join(unknown)}.", hint=hint)
