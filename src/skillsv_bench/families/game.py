"""A family game: a skill of 15 to 60 units with 20 to 150 tasks of one kind, and the exact value of every unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skillsv.errors import SettingsError
from skillsv.model.coalition import Coalition
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import Task
from skillsv_bench.families.formulas import FORMULAS, Formula, UnitTraits, draw_formula, draw_traits
from skillsv_bench.families.layout import draw_skill
from skillsv_bench.families.noise import FamilyNoise, passing_chances, thresholds
from skillsv_bench.planted.game import STRATA, Bools, Floats, exact_effects

KINDS = tuple(FORMULAS)
"""The kinds of games by name."""

UNITS = (15, 60)
"""Least and most execution units of a game."""

TASKS = (20, 150)
"""Least and most tasks of a panel."""

NEW_TASKS = 600
"""Further tasks of the same kind that stand for all tasks like these."""

MIDDLE_WEIGHT = 0.35
"""Effect of a unit in the middle of the text, as a share of its effect at both ends (kind `position`)."""

_ROWS_AT_ONCE = 4_000
"""Coalitions that exact values evaluate in one batch, which bounds memory."""


@dataclass(frozen=True, kw_only=True)
class FamilyGame:
    """A compiled skill with tasks whose formulas are known; columns are the execution units in document order."""

    kind: str
    seed: int
    compiled: CompiledSkill
    traits: UnitTraits
    tasks: tuple[Task, ...]
    formulas: tuple[Formula, ...]

    @property
    def name(self) -> str:
        """The name of the game."""
        return f"{self.kind}-{self.seed}"

    def with_new_tasks(self, count: int = NEW_TASKS) -> FamilyGame:
        """The same skill and units with other tasks of the same kind, always the same ones."""
        rng = np.random.default_rng([self.seed, 17, *self.kind.encode()])
        return replace(self, **_draw_tasks(self.kind, self.traits, count, rng, prefix="new"))

    def column_mask(self, coalitions: Sequence[Coalition]) -> Bools:
        """Coalitions as rows over the execution units."""
        column = {unit: place for place, unit in enumerate(self.compiled.execution)}
        rows = np.zeros((len(coalitions), len(column)), dtype=np.bool_)
        for row, coalition in enumerate(coalitions):
            rows[row, [column[unit] for unit in coalition if unit in column]] = True
        return rows

    def logits(self, coalitions: Bools) -> Floats:
        """The logit of every task (columns) for coalitions of execution units (rows)."""
        present = coalitions.astype(np.float64)
        terms = self._terms
        logits: Floats = terms.base + present @ terms.main
        if terms.by_position.any():
            logits += _weighted_by_position(coalitions) @ terms.by_position
        if terms.group_weight.any():
            logits += (present @ terms.members >= terms.least - 0.5) @ terms.group_weight
        return logits

    def chances(self, coalitions: Bools, noise: FamilyNoise) -> Floats:
        """The expected score v(S, t) of every task (columns) for coalitions (rows), trigger included."""
        logits = self.logits(coalitions)
        temperature, lapse = noise.of_tasks(len(self.tasks))
        expected = np.empty_like(logits)
        for levels in sorted(set(self.levels.tolist())):
            mine = self.levels == levels
            steps = [passing_chances(logits[:, mine] - step, temperature[mine]) for step in thresholds(levels)]
            expected[:, mine] = np.mean(steps, axis=0)
        result: Floats = expected * (1 - lapse) + (1 - expected) * lapse
        return result

    @cached_property
    def levels(self) -> Floats:
        """The number of thresholds of each task."""
        return np.array([formula.levels for formula in self.formulas])

    def truth(self, noise: FamilyNoise) -> Floats:
        """phi(mu) of every execution unit, exactly, on the tasks of this game."""
        values: Floats = self.effects(noise).mean(axis=1)
        return values

    def effects(self, noise: FamilyNoise) -> Floats:
        """phi(mu) of every execution unit (rows) on every task (columns)."""
        return exact_effects(
            self.compiled, len(self.tasks), lambda present: self.chances(present, noise), rows_at_once=_ROWS_AT_ONCE
        )

    @cached_property
    def _terms(self) -> _Terms:
        """All formulas as matrices."""
        main = np.array([formula.main for formula in self.formulas]).T
        by_position = np.array([formula.by_position for formula in self.formulas])
        kinds: dict[tuple[tuple[int, ...], int], int] = {}
        for formula in self.formulas:
            for group in formula.groups:
                kinds.setdefault((group.members, group.least), len(kinds))
        weight, members = np.zeros((len(kinds), len(self.formulas))), np.zeros((len(main), len(kinds)))
        for task, formula in enumerate(self.formulas):
            for group in formula.groups:
                weight[kinds[group.members, group.least], task] += group.weight
        for (units, _), place in kinds.items():
            members[list(units), place] = 1.0
        return _Terms(
            base=np.array([formula.base for formula in self.formulas]),
            main=main * ~by_position,
            by_position=main * by_position,
            members=members,
            least=np.array([least for _, least in kinds], dtype=np.float64),
            group_weight=weight,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """The formulas of all tasks: weights of units [units, tasks], and groups with their weights [groups, tasks]."""

    base: Floats
    main: Floats
    by_position: Floats
    members: Floats
    least: Floats
    group_weight: Floats


def _weighted_by_position(coalitions: Bools) -> Floats:
    """For each unit that is present its weight by its place among the present units: ends 1, middle less."""
    rank = np.cumsum(coalitions, axis=1) - 1
    last = np.maximum(coalitions.sum(axis=1, keepdims=True) - 1, 1)
    from_middle = np.abs(2.0 * rank / last - 1.0)
    return np.where(coalitions, MIDDLE_WEIGHT + (1.0 - MIDDLE_WEIGHT) * from_middle, 0.0)


def draw_game(kind: str, seed: int, *, units: int | None = None, tasks: int | None = None) -> FamilyGame:
    """The game of that kind; the same seed gives the same game. Sizes are drawn where none are given."""
    if kind not in KINDS:
        raise SettingsError(f"there is no kind of game {kind!r}.", hint=f"Choose from {', '.join(KINDS)}.")
    rng = np.random.default_rng([seed, *kind.encode()])
    drawn_units, drawn_tasks = int(rng.integers(UNITS[0], UNITS[1] + 1)), int(rng.integers(TASKS[0], TASKS[1] + 1))
    compiled = draw_skill(f"family-{kind}", units or drawn_units, rng)
    traits = draw_traits(kind, len(compiled.execution), rng)
    drawn = _draw_tasks(kind, traits, tasks or drawn_tasks, rng, prefix="task")
    return FamilyGame(kind=kind, seed=seed, compiled=compiled, traits=traits, **drawn)


def _draw_tasks(kind: str, traits: UnitTraits, count: int, rng: np.random.Generator, *, prefix: str) -> dict[str, Any]:
    """Tasks and their formulas, as fields of a game."""
    formulas = tuple(draw_formula(kind, traits, rng) for _ in range(count))
    tasks = tuple(
        Task(
            id=f"{prefix}-{number:03d}",
            input=f"Question {number}.",
            stratum=STRATA[number % len(STRATA)],
            digest=f"{prefix}-{number:03d}",
        )
        for number in range(count)
    )
    return {"tasks": tasks, "formulas": formulas}
