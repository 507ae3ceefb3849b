"""A planted game: a real skill, real tasks, and the exact value of every unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from skillsv.agents.planted import MARK
from skillsv.benchmarks.planted.formulas import Role
from skillsv.model.coalition import Coalition
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import Task
from skillsv.order import exact_design

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_ROWS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How an agent departs from its rules: Bernoulli at a temperature, or lapses. Neither: deterministic."""

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
            found: unit.id
            for unit in self.compiled.units
            for extent in unit.extents
            for found in MARK.findall(self.files[extent.file][extent.span.start : extent.span.end].decode())
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
            formula = task.metadata["planted"]
            parts = [(True, [name], weight) for name, weight in formula.get("main", {}).items()]
            parts += [(False, names, weight) for names, weight in formula.get("any", ())]
            parts += [(True, names, weight) for names, weight in formula.get("all", ())]
            for every, names, weight in parts:
                key = (every, tuple(sorted(column[self.unit_of[name]] for name in names)))
                entries.append((places.setdefault(key, len(places)), number, float(weight)))
        weights = np.zeros((len(places), len(self.tasks)))
        for feature, number, weight in entries:
            weights[feature, number] += weight
        formulas = [task.metadata["planted"] for task in self.tasks]
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
        return np.array([[unit in kept for unit in self.compiled.execution] for kept in coalitions], dtype=np.bool_)

    def truth(self, noise: Noise) -> Floats:
        """phi(mu) of every execution unit, exactly, in document order (columns)."""
        values: Floats = self._effects(noise).mean(axis=1)
        return values

    def _effects(self, noise: Noise) -> Floats:
        """The value per unit and task: A V over all coalitions that mu can reach."""
        design = exact_design(self.compiled)
        trigger = design.units.index(self.compiled.trigger)
        columns = [place for place in range(len(design.units)) if place != trigger]
        effects = np.zeros((len(design.units), len(self.tasks)))
        for start in range(0, len(design.coalitions), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            effects += design.weights[:, rows] @ self.chances(design.coalitions[rows][:, columns], noise)
        return effects[columns]
