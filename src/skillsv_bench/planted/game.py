"""A planted game: a real skill, real tasks, and the exact value of every unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from skillsv.extend.estimators import MARK, SOLVED, Sight, exact_design, planted_logit
from skillsv.model.coalition import Coalition
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import Task
from skillsv_bench.planted.skills import mark

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

STRATA = ("lookup", "compute", "compare", "explain")
"""The strata that tasks are assigned to in turn."""

_ROWS_AT_ONCE = 20_000
"""Coalitions that the exact values evaluate in one batch, which bounds memory."""


class Role(StrEnum):
    """What a planted unit does."""

    STRONG = "strong"  # solves tasks alone
    WEAK = "weak"  # solves together with other weak ones
    OR = "or"  # one of a redundant pair
    AND = "and"  # one of a complementary pair
    HARMFUL = "harmful"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The size of a game, and its scores for the bare agent, for {m} and for the full skill."""

    tasks: int
    empty: float
    trigger: float
    full: float


TARGETS: Mapping[str, Target] = {
    "livemath": Target(tasks=60, empty=0.483, trigger=0.483, full=0.633),
    "officeqa": Target(tasks=86, empty=0.488, trigger=0.535, full=0.733),
    "spreadsheet": Target(tasks=80, empty=0.275, trigger=0.275, full=0.775),
    "alfworld": Target(tasks=60, empty=0.883, trigger=0.900, full=0.950),
}
"""The paper's closure table."""


def planted_formula(task: Task) -> Mapping[str, Any]:
    """The formula of a planted task, as its metadata holds it."""
    return cast("Mapping[str, Any]", task.metadata["planted"])


def make_task(number: int, stratum: str, formula: Mapping[str, Any]) -> Task:
    """Make a task that the planted agent solves or not; the answer is compared word for word."""
    name = f"task-{number:03d}"
    return Task(
        id=name,
        input=f"Question {number} of kind {stratum}.",
        target=SOLVED,
        stratum=stratum,
        verifier="exact",
        metadata={"planted": formula},
        digest=name,
    )


def assign_roles(units: int, rng: np.random.Generator) -> dict[str, Role]:
    """Assign roles to `units` marks at random: a sixth strong, a third weak, pairs, a few harmful, the rest dead."""
    pairs = max(1, units // 12)
    harmful = max(1, units // 20)
    strong, weak = max(1, units // 6), units // 3
    roles = [Role.STRONG] * strong + [Role.WEAK] * weak + [Role.OR, Role.AND] * (2 * pairs) + [Role.HARMFUL] * harmful
    roles += [Role.DEAD] * (units - len(roles))
    shuffled = rng.permutation(np.array(roles[:units], dtype=object))
    return {mark(number + 1): role for number, role in enumerate(shuffled)}


def make_tasks(roles: Mapping[str, Role], target: Target, rng: np.random.Generator) -> tuple[Task, ...]:
    """Make tasks in strata whose scores at {m} and N meet the target.

    With the skill the agent gains some tasks (`gain`), loses some (`lost`), solves some as before (`kept`), and never
    solves the rest (`never`).
    """
    solved_m, solved_n = round(target.trigger * target.tasks), round(target.full * target.tasks)
    lost = 2
    kinds = ["gain"] * (solved_n - solved_m + lost) + ["lost"] * lost + ["kept"] * (solved_m - lost)
    kinds += ["never"] * (target.tasks - len(kinds))
    shuffled = rng.permutation(np.array(kinds, dtype=object))
    writer = _FormulaWriter(roles, rng)
    formulas = [writer.formula(str(kind)) for kind in shuffled]
    bare = _bare_logits(formulas, round(target.empty * target.tasks) - solved_m, rng)
    return tuple(
        make_task(number, STRATA[number % len(STRATA)], {**formula, "bare": bare[number]})
        for number, formula in enumerate(formulas)
    )


def _bare_logits(formulas: list[dict[str, Any]], extra: int, rng: np.random.Generator) -> list[float]:
    """Return the bare agent's logits: those of {m}, except for the tasks that the trigger itself gains or loses."""
    bare = [float(formula["base"]) for formula in formulas]
    pool = [place for place, base in enumerate(bare) if (base > 0) == (extra < 0)]
    for place in rng.choice(np.array(pool), size=abs(extra), replace=False) if extra else ():
        bare[place] = -bare[place]
    return bare


class _FormulaWriter:
    """Writes the formulas of tasks from the units of each role."""

    def __init__(self, roles: Mapping[str, Role], rng: np.random.Generator) -> None:
        self.rng = rng
        self.units_by_role = {role: [name for name, assigned in roles.items() if assigned is role] for role in Role}
        self.full_skill = Sight(frozenset(roles), 0)

    def formula(self, kind: str) -> dict[str, Any]:
        formula = {"gain": self._gain, "kept": self._kept, "lost": self._lost, "never": self._never}[kind]()
        for name in self._draw_units(Role.WEAK, 3):
            # Faint effects that only a stochastic agent shows; too small to turn a deterministic answer.
            formula["main"].setdefault(name, round(float(self.rng.normal(0, 0.05)), 3))
        solved = kind in {"gain", "kept"}
        logit = planted_logit(formula, self.full_skill)
        if (logit > 0) is not solved:
            raise AssertionError(f"a task of kind {kind} has the logit {logit}")
        return formula

    def _draw_units(self, role: Role, count: int) -> list[str]:
        names = self.units_by_role[role]
        return [str(name) for name in self.rng.choice(names, size=min(count, len(names)), replace=False)]

    def _draw_pair(self, role: Role) -> list[str]:
        names = self.units_by_role[role]
        first = 2 * int(self.rng.integers(len(names) // 2))
        return names[first : first + 2]

    def _gain(self) -> dict[str, Any]:
        way = self.rng.choice(["strong", "or", "and", "vote"], p=[0.4, 0.2, 0.2, 0.2])
        if way == "strong":
            main = {self._draw_units(Role.STRONG, 1)[0]: 2.0}
            if self.rng.random() < 0.25:
                main[self._draw_units(Role.HARMFUL, 1)[0]] = -0.5
            return {"base": -1.0, "main": main}
        if way == "vote":
            return {"base": -1.0, "main": dict.fromkeys(self._draw_units(Role.WEAK, 4), 0.6)}
        group = [self._draw_pair(Role.OR if way == "or" else Role.AND), 2.0]
        return {"base": -1.0, "main": {}, "any" if way == "or" else "all": [group]}

    def _kept(self) -> dict[str, Any]:
        if self.rng.random() < 0.15:
            rescue = [[*self._draw_units(Role.STRONG, 1), *self._draw_units(Role.WEAK, 1)], 2.0]
            return {"base": 1.0, "main": {self._draw_units(Role.HARMFUL, 1)[0]: -1.8}, "any": [rescue]}
        return {"base": 1.0, "main": {}}

    def _lost(self) -> dict[str, Any]:
        return {"base": 1.0, "main": {self._draw_units(Role.HARMFUL, 1)[0]: -2.0}}

    def _never(self) -> dict[str, Any]:
        return {"base": -2.0, "main": dict.fromkeys(self._draw_units(Role.WEAK, 2), 0.4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How an agent deviates from its rules: Bernoulli at a temperature, or lapses; with neither it does not."""

    temperature: float = 0.0
    lapse: float = 0.0

    @property
    def agent(self) -> str:
        """The name of the planted agent with this noise."""
        if self.temperature:
            return f"noisy@{self.temperature:g}"
        return f"lapse@{self.lapse:g}" if self.lapse else "rules"

    def chances(self, logits: Floats) -> Floats:
        """The probability of solving, elementwise; the same rule as the agent's."""
        if self.temperature > 0:
            sure = 1.0 / (1.0 + np.exp(-np.clip(logits / self.temperature, -700.0, 700.0)))
        else:
            sure = (logits > 0).astype(np.float64)
        return sure * (1 - self.lapse) + (1 - sure) * self.lapse


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """All formulas as one linear map: a task's logit is `base` plus the weights of the features that are on.

    A feature is a group of units, on when `every` one, or any one, of them is present: a mark alone, a pair.
    """

    groups: tuple[tuple[int, ...], ...]
    every: Bools
    weights: Floats
    base: Floats
    bare: Floats

    def when_on(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For positions of units [..., n] in orders the position at which each feature turns on [..., features]."""
        columns = [
            (ranks[..., group].max(axis=-1) if every else ranks[..., group].min(axis=-1))
            for group, every in zip(map(list, self.groups), self.every, strict=True)
        ]
        return np.stack(columns, axis=-1)

    def on(self, coalitions: Bools) -> Bools:
        """Which features are on in each coalition [R, n]: present units enter at position 0, absent ones at 1."""
        on: Bools = self.when_on((~coalitions).astype(np.int64)) == 0
        return on


@dataclass(frozen=True, kw_only=True)
class PlantedGame:
    """A planted skill with its tasks. `roles` says what each mark does; columns are the execution units."""

    name: str
    compiled: CompiledSkill
    files: Mapping[str, bytes]
    tasks: tuple[Task, ...]
    roles: Mapping[str, Role]

    @cached_property
    def unit_of(self) -> Mapping[str, str]:
        """The unit that carries each mark."""
        return {
            name: unit.id
            for unit in self.compiled.units
            for extent in unit.extents
            for name in MARK.findall(self.files[extent.file][extent.span.start : extent.span.end].decode())
        }

    @cached_property
    def role_of(self) -> Mapping[str, Role]:
        """The role of each execution unit."""
        return {self.unit_of[name]: role for name, role in self.roles.items()}

    @cached_property
    def features(self) -> Features:
        """The tasks' formulas over columns of execution units."""
        column = {unit: place for place, unit in enumerate(self.compiled.execution)}
        places: dict[tuple[bool, tuple[int, ...]], int] = {}
        entries: list[tuple[int, int, float]] = []
        for number, task in enumerate(self.tasks):
            formula = planted_formula(task)
            parts = [(True, [name], weight) for name, weight in formula.get("main", {}).items()]
            parts += [(False, names, weight) for names, weight in formula.get("any", ())]
            parts += [(True, names, weight) for names, weight in formula.get("all", ())]
            for every, names, weight in parts:
                key = (every, tuple(sorted(column[self.unit_of[name]] for name in names)))
                entries.append((places.setdefault(key, len(places)), number, float(weight)))
        weights = np.zeros((len(places), len(self.tasks)))
        for feature, number, weight in entries:
            weights[feature, number] += weight
        formulas = [planted_formula(task) for task in self.tasks]
        return Features(
            groups=tuple(group for _, group in places),
            every=np.array([every for every, _ in places], dtype=np.bool_),
            weights=weights,
            base=np.array([formula["base"] for formula in formulas], dtype=np.float64),
            bare=np.array([formula.get("bare", formula["base"]) for formula in formulas], dtype=np.float64),
        )

    def chances(self, coalitions: Bools, noise: Noise) -> Floats:
        """v(S, t) for coalitions of execution units [R, n], trigger included: a row each, a column per task."""
        features = self.features
        return noise.chances(features.base + features.on(coalitions) @ features.weights)

    def column_mask(self, coalitions: Iterable[Coalition]) -> Bools:
        """Coalitions as rows over the execution units."""
        return np.array(
            [[unit in coalition for unit in self.compiled.execution] for coalition in coalitions], dtype=np.bool_
        )

    def truth(self, noise: Noise) -> Floats:
        """phi(mu) of every execution unit, exactly, in document order (columns)."""
        values: Floats = self._effects(noise).mean(axis=1)
        return values

    def _effects(self, noise: Noise) -> Floats:
        """The value per unit and task."""
        return exact_effects(
            self.compiled, len(self.tasks), lambda present: self.chances(present, noise), rows_at_once=_ROWS_AT_ONCE
        )


def exact_effects(
    compiled: CompiledSkill, tasks: int, chances: Callable[[Bools], Floats], *, rows_at_once: int
) -> Floats:
    """phi(mu) of every execution unit (rows) on every task: A V over all coalitions that mu can reach.

    `chances` gives the expected scores of coalitions on all tasks; it is asked for so many coalitions at once.
    """
    design = exact_design(compiled)
    trigger = design.units.index(compiled.trigger)
    columns = [place for place in range(len(design.units)) if place != trigger]
    effects = np.zeros((len(design.units), tasks))
    for start in range(0, len(design.coalitions), rows_at_once):
        rows = slice(start, start + rows_at_once)
        effects += design.weights[:, rows] @ chances(design.coalitions[rows][:, columns])
    return effects[columns]
