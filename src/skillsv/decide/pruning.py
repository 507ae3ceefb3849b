"""The order in which units go, cheapest loss first, and how far along that path a goal reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillsv.errors import SettingsError
from skillsv.model.coalition import Coalition
from skillsv.model.edit import PruneStep
from skillsv.model.format import short_points
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Action, Verdict

CountTokens = Callable[[Coalition], int]
"""The tokens of what a coalition renders to."""

Partners = Mapping[str, tuple[str, float, float]]
"""A unit's partner, and the factors of the unit's value while the partner is there and once it is gone."""


def pruning_path(
    compiled: CompiledSkill,
    values: Mapping[str, float],
    tokens: CountTokens,
    among: Iterable[str] | None = None,
    *,
    additive: bool = True,
    partners: Partners | None = None,
) -> tuple[PruneStep, ...]:
    """Remove units in ascending value until none of `among` (all execution units) is left.

    A removed unit takes along everything that needs it (its reverse closure), so what counts is the value of all that
    goes: a lead-in worth nothing stands as long as its list is worth something. Ties go to the later unit. A value that
    counts its dependants already (Closure-LOO) is not `additive`: it stands for all that goes, as it is.
    `partners` let the value of a unit follow what is left: one of two that say the same goes for nothing, and then the
    other is worth what both were.
    """
    place = {unit: index for index, unit in enumerate(compiled.execution)}
    left = {unit for unit in (compiled.execution if among is None else among) if unit in place}
    closures = {unit: compiled.reverse_closure(frozenset({unit})) for unit in left}
    kept, steps, lost = compiled.everything, [], 0.0
    whole = tokens(kept)
    while left:
        going = {unit: closures[unit] & kept for unit in left}
        counted = {unit: sorted(gone) if additive else (unit,) for unit, gone in going.items()}
        now = _given(values, kept, partners or {})
        loss = {unit: sum(now.get(other, 0.0) for other in gone) for unit, gone in counted.items()}
        unit = min(left, key=lambda each: (loss[each], -place[each]))
        kept -= going[unit]
        left -= going[unit]
        lost += loss[unit]
        remaining = tokens(kept)
        steps.append(
            PruneStep(
                unit=unit,
                removed=tuple(sorted(going[unit], key=place.__getitem__)),
                kept=kept,
                tokens_left=remaining,
                share_removed=1 - remaining / whole if whole else 0.0,
                lost_value=lost,
            )
        )
    return tuple(steps)


def _given(values: Mapping[str, float], kept: Coalition, partners: Partners) -> Mapping[str, float]:
    """The values with every unit's partner present or gone, as it is now."""
    now = dict(values)
    for unit, (partner, present, gone) in partners.items():
        now[unit] = now.get(unit, 0.0) * (present if partner in kept else gone)
    return now


def removable(compiled: CompiledSkill, verdicts: Iterable[Verdict], actions: frozenset[Action]) -> frozenset[str]:
    """The units with one of these verdicts that can go without taking along a unit that should stay."""
    decided = {verdict.unit: verdict.action for verdict in verdicts}
    may_go = {unit for unit, action in decided.items() if action in {Action.DELETE, Action.HARMFUL}}
    chosen = (unit for unit, action in decided.items() if action in actions)
    return frozenset(unit for unit in chosen if compiled.reverse_closure(frozenset({unit})) <= may_go)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """How far to prune. Exactly one is given; each is judged along the whole path. `max_drop` is a share of 1."""

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


def how_far(path: Sequence[PruneStep], goal: Goal) -> int:
    """How many steps of the path the goal asks for; 0 leaves the skill alone.

    A size is reached by the first step that is small enough. A drop allows the longest run of steps whose values, added
    up, lose no more than that: later steps may give back what earlier ones took.
    """
    if goal.max_drop is not None:
        allowed = [count for count, step in enumerate(path, start=1) if step.lost_value <= goal.max_drop]
        return max(allowed, default=0)
    for count, step in enumerate(path, start=1):
        small_enough = goal.to_tokens is not None and step.tokens_left <= goal.to_tokens
        share_gone = goal.share is not None and step.share_removed >= goal.share
        if small_enough or share_gone:
            return count
    raise SettingsError(
        "the skill cannot be made that small: its trigger alone is larger.",
        hint=f"The smallest it gets is {path[-1].tokens_left if path else 0} tokens.",
    )
