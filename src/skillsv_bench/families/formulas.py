"""Kinds of games: how the score of a task follows from the units that the agent reads.

A task's logit is a base plus the weights of single units and of groups of units. The score is 1 above zero; a graded
task has several thresholds, and the score is the share of them below the logit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from skillsv_bench.planted.game import Floats

EASY_SHARE = 0.22
"""Share of the tasks that the agent solves without the skill."""

HOPELESS_SHARE = 0.2
"""Share of the tasks that the agent hardly solves with any skill."""

FAR = 1.8
"""Distance of easy and hopeless tasks from the threshold, in ranges of their logits."""

DEAD_SHARE = (0.35, 0.6)
"""Least and largest share of units without any effect."""

HARMFUL_SHARE = 0.25
"""Share of all units that harm, in the kind `harmful`."""

LEVELS = (5, 10)
"""Numbers of thresholds of a graded task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Units that work together: the weight counts where at least `least` of `members` are present."""

    members: tuple[int, ...]
    least: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """One task. `main` holds a weight per unit; with `by_position` it counts less in the middle of the text.

    `levels` is the number of thresholds: 1 is pass or fail.
    """

    base: float
    main: Floats
    groups: tuple[Group, ...] = ()
    by_position: bool = False
    levels: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTraits:
    """What all tasks of a game share: which units have effects, how often, how strongly, and in which groups.

    `reach` is the chance that a unit has an effect on a task, 0 for a dead unit.
    """

    live: tuple[int, ...]
    reach: Floats
    strength: Floats
    popularity: Floats
    groups: tuple[tuple[tuple[int, ...], int], ...]


FormulaMaker = Callable[[UnitTraits, np.random.Generator], Formula]
"""Draws one task that the skill can decide."""


def draw_traits(kind: str, units: int, rng: np.random.Generator) -> UnitTraits:
    """Draw what the units of a game do."""
    dead = round(rng.uniform(*DEAD_SHARE) * units)
    live = np.sort(rng.permutation(units)[: units - dead])
    reach, strength = np.zeros(units), np.zeros(units)
    low, high = (0.5, 1.0) if kind == "dense" else (0.05, 0.5)
    reach[live] = rng.uniform(low, high, size=len(live))
    strength[live] = rng.lognormal(0.0, 0.5, size=len(live))
    if kind in {"harmful", "mixed"}:
        share = HARMFUL_SHARE if kind == "harmful" else HARMFUL_SHARE / 2
        strength[rng.choice(live, size=min(round(share * units), len(live)), replace=False)] *= -1.0
    popularity = np.zeros(units)
    popularity[live] = rng.gamma(0.7, size=len(live)) + 0.05
    return UnitTraits(
        live=tuple(live.tolist()),
        reach=reach,
        strength=strength,
        popularity=popularity / popularity.sum(),
        groups=tuple(_draw_group(live.tolist(), rng) for _ in range(max(2, len(live) // 3))),
    )


def _draw_group(live: list[int], rng: np.random.Generator) -> tuple[tuple[int, ...], int]:
    """Units that replace each other (one is enough), need each other (all), or of which some are enough."""
    size = min(int(rng.integers(2, 5)), len(live))
    members = tuple(sorted(int(unit) for unit in rng.choice(live, size=size, replace=False)))
    return members, int(rng.choice([1, size, max(1, size - 1)]))


def draw_formula(kind: str, traits: UnitTraits, rng: np.random.Generator) -> Formula:
    """Draw one task of a game: easy, hopeless, or decided by the skill."""
    formula = FORMULAS[kind](traits, rng)
    draw = rng.random()
    if draw < EASY_SHARE + HOPELESS_SHARE:
        size = float(np.abs(formula.main).sum() + sum(abs(group.weight) for group in formula.groups))
        distance = rng.uniform(0.4, FAR) * max(size, 0.5)
        return replace(formula, base=distance if draw < EASY_SHARE else -distance - size / 2)
    return formula


def _sparse(traits: UnitTraits, rng: np.random.Generator) -> Formula:
    """One to four units decide: one alone, or several of which most are needed."""
    possible = int((traits.popularity > 0).sum())
    count = min(1 + int(rng.poisson(0.8)), 4, possible)
    units = rng.choice(len(traits.popularity), size=count, replace=False, p=traits.popularity)
    main = np.zeros(len(traits.popularity))
    main[units] = np.sign(traits.strength[units]) * rng.uniform(0.8, 1.2, size=count)
    return _with_threshold(main, rng)


def _linear(traits: UnitTraits, rng: np.random.Generator) -> Formula:
    """Every unit has an effect by its reach; the score changes where their sum passes a threshold."""
    touched = rng.random(len(traits.reach)) < traits.reach
    if not touched.any():
        touched[int(rng.choice(traits.live))] = True
    return _with_threshold(traits.strength * touched * rng.gamma(3.0, 1 / 3, size=len(touched)), rng)


def _with_threshold(main: Floats, rng: np.random.Generator) -> Formula:
    """Scale the weights to a range of about 2, and put zero somewhere into the range."""
    scaled = 2.2 * main / np.abs(main).sum()
    low, high = scaled[scaled < 0].sum(), scaled[scaled > 0].sum()
    return Formula(base=-float(low + rng.uniform(0.15, 0.85) * (high - low)), main=scaled)


def _interacting(traits: UnitTraits, rng: np.random.Generator) -> Formula:
    """A group decides, sometimes with a second group or a unit beside it."""
    members, least = traits.groups[int(rng.integers(len(traits.groups)))]
    groups = [Group(members=members, least=least, weight=2.0)]
    main = np.zeros(len(traits.reach))
    draw = rng.random()
    if draw < 0.3:
        other, needed = traits.groups[int(rng.integers(len(traits.groups)))]
        groups.append(Group(members=other, least=needed, weight=float(rng.choice([-1.5, 0.8, 1.5]))))
    elif draw < 0.6:
        main[int(rng.choice(traits.live))] = float(rng.choice([-1.3, 0.7, 1.3]))
    return Formula(base=-1.0 + float(rng.normal(0, 0.05)), main=main, groups=tuple(groups))


def _by_position(traits: UnitTraits, rng: np.random.Generator) -> Formula:
    return replace(_linear(traits, rng), by_position=True)


def _graded(traits: UnitTraits, rng: np.random.Generator) -> Formula:
    return replace(_linear(traits, rng), levels=int(rng.choice(LEVELS)))


def _mixed(traits: UnitTraits, rng: np.random.Generator) -> Formula:
    """A task of any other kind."""
    others = (_sparse, _linear, _interacting, _by_position, _graded)
    return others[int(rng.integers(len(others)))](traits, rng)


FORMULAS: Mapping[str, FormulaMaker] = {
    "sparse": _sparse,
    "dense": _linear,
    "interacting": _interacting,
    "harmful": _linear,
    "position": _by_position,
    "graded": _graded,
    "mixed": _mixed,
}
"""The kinds of games. `dense` and `harmful` differ from each other in the traits of their units."""
