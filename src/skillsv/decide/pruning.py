"""The pruning path: the order in which units are removed, smallest loss first, and where a goal ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from skillsv.errors import SettingsError
from skillsv.model.coalition import Coalition
from skillsv.model.edit import PruneStep
from skillsv.model.format import short_points
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import REMOVABLE, Action, Verdict

CountTokens = Callable[[Coalition], int]
"""The tokens of what a coalition renders to."""

Partners = Mapping[str, tuple[str, float, float]]
"""A unit's partner, and the factors of the unit's value while the partner is kept and after it is removed."""


def pruning_path(
    compiled: CompiledSkill,
    values: Mapping[str, float],
    tokens: CountTokens,
    among: Iterable[str] | None = None,
    *,
    additive: bool = True,
    partners: Partners | None = None,
    predict: Callable[[Coalition], float] | None = None,
) -> tuple[PruneStep, ...]:
    """Remove units in ascending value until none of `among` (all execution units) is left.

    A unit is removed together with everything that needs it (its reverse closure), so the sum of their values counts: a
    lead-in of no value stays while its list has some. Files that nothing leads to any more go with it. Of equal losses
    the later unit is removed first. A value that includes the dependants already (Closure-LOO) is not `additive`: it
    counts alone.
    With `partners` the value of a unit depends on what is left: the first of two redundant units is removed at no loss,
    and then the other has the value of both.
    `predict` gives the loss of score where a coalition is kept (see `losses`); without it, losses of steps are added.
    """
    place = {unit: index for index, unit in enumerate(compiled.execution)}
    left = {unit for unit in (compiled.execution if among is None else among) if unit in place}
    closures = {unit: compiled.reverse_closure(frozenset({unit})) for unit in left}
    kept, steps, lost = compiled.everything, [], 0.0
    total = tokens(kept)
    removed: dict[str, frozenset[str]] = {}
    loss: dict[str, float] = {}
    changed: Iterable[str] = left
    find_changed = _loss_changes(compiled, closures, partners or {})
    smallest: list[tuple[float, int, str]] = []
    while left:
        # Most steps change the losses of few units, so only those are computed again.
        current = _current_values(values, kept, partners or {})
        for unit in changed:
            removed[unit] = _removed_with(compiled, closures[unit] & kept, kept, left)
            counted = sorted(removed[unit]) if additive else (unit,)
            loss[unit] = sum(current.get(other, 0.0) for other in counted)
            heappush(smallest, (loss[unit], -place[unit], unit))
        unit = _pop_smallest(smallest, loss, left)
        kept -= removed[unit]
        left -= removed[unit]
        changed = find_changed(removed[unit]) & left
        lost += loss[unit]
        remaining = tokens(kept)
        steps.append(
            PruneStep(
                unit=unit,
                removed=tuple(sorted(removed[unit], key=place.__getitem__)),
                kept=kept,
                tokens_left=remaining,
                share_removed=1 - remaining / total if total else 0.0,
                lost_value=predict(kept) if predict else lost,
            )
        )
    return tuple(steps)


def _pop_smallest(smallest: list[tuple[float, int, str]], loss: Mapping[str, float], left: set[str]) -> str:
    """The unit of the smallest loss; what the heap holds of units that went, or of earlier losses, is dropped."""
    while True:
        amount, _, unit = heappop(smallest)
        if unit in left and amount == loss[unit]:
            return unit


def _loss_changes(
    compiled: CompiledSkill, closures: Mapping[str, frozenset[str]], partners: Partners
) -> Callable[[frozenset[str]], set[str]]:
    """A function from the units that have just gone to the units whose loss may be another without them.

    Those are the units with which one of them would go, the units whose partner is one of them, and every unit that
    leads to files, because a file goes with the last unit that leads to it.
    """
    going_with: dict[str, set[str]] = {}
    for unit, units in closures.items():
        for other in units:
            going_with.setdefault(other, set()).add(unit)
    partner_of: dict[str, set[str]] = {}
    for unit, (partner, *_) in partners.items():
        partner_of.setdefault(partner, set()).add(unit)
    leading = {unit for unit, units in closures.items() if not compiled.leading.isdisjoint(units)}

    def find_changed(gone: frozenset[str]) -> set[str]:
        touched = gone.union(*(partner_of.get(unit, ()) for unit in gone))
        return leading.union(*(going_with.get(unit, ()) for unit in touched))

    return find_changed


def _removed_with(compiled: CompiledSkill, units: frozenset[str], kept: Coalition, left: set[str]) -> frozenset[str]:
    """The units to remove, and those of `left` in files that nothing leads to any more."""
    if compiled.leading.isdisjoint(units):
        return units
    return units | (compiled.unreached_without(compiled.everything - kept | units) & kept & left)


def _current_values(values: Mapping[str, float], kept: Coalition, partners: Partners) -> Mapping[str, float]:
    """The values of the units, given which of their partners are still kept."""
    current = dict(values)
    for unit, (partner, factor_kept, factor_removed) in partners.items():
        current[unit] = current.get(unit, 0.0) * (factor_kept if partner in kept else factor_removed)
    return current


def find_removable(compiled: CompiledSkill, verdicts: Iterable[Verdict], actions: frozenset[Action]) -> frozenset[str]:
    """The units with one of these verdicts that can be removed without a unit that should stay."""
    action_of = {verdict.unit: verdict.action for verdict in verdicts}
    useless = {unit for unit, action in action_of.items() if action in REMOVABLE}
    chosen = (unit for unit, action in action_of.items() if action in actions)
    return frozenset(unit for unit in chosen if compiled.reverse_closure(frozenset({unit})) <= useless)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """How far to prune. Exactly one limit is given; it holds along the whole path. `max_drop` is a share of 1."""

    to_tokens: int | None = None
    share: float | None = None
    max_drop: float | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("to_tokens", "share", "max_drop") if getattr(self, name) is not None]
        if len(given) != 1:
            raise SettingsError("a pruning goal is one of --to-tokens, --share and --max-drop.", hint="Give one.")
        if self.share is not None and not 0 < self.share <= 1:
            raise SettingsError(f"the share {self.share:g} is not between 0 and 1.", hint="0.3 removes three tenths.")
        if self.max_drop is not None and not 0 <= self.max_drop <= 1:
            raise SettingsError(
                f"a drop of {short_points(self.max_drop)} points is not between 0 and 100.",
                hint="A share of 0.02 is 2 points.",
            )
        if self.to_tokens is not None and self.to_tokens < 0:
            raise SettingsError(f"{self.to_tokens} tokens cannot be reached.", hint="Give a positive number.")


def count_steps(path: Sequence[PruneStep], goal: Goal) -> int:
    """How many steps of the path the goal asks for; 0 leaves the skill as it is.

    A size is reached by the first step that is small enough. A drop allows the longest beginning of the path whose
    total loss is no larger: later steps may regain what earlier ones lost.
    """
    if goal.max_drop is not None:
        allowed = [count for count, step in enumerate(path, start=1) if step.lost_value <= goal.max_drop]
        return max(allowed, default=0)
    for count, step in enumerate(path, start=1):
        small_enough = goal.to_tokens is not None and step.tokens_left <= goal.to_tokens
        share_reached = goal.share is not None and step.share_removed >= goal.share
        if small_enough or share_reached:
            return count
    raise SettingsError(
        "the skill cannot be made that small: its trigger alone is larger.",
        hint=f"The smallest it gets is {path[-1].tokens_left if path else 0} tokens.",
    )
