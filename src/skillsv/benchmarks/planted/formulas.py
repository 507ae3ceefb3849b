"""Roles of planted units, and tasks that turn roles into scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from skillsv.agents.planted import SOLVED, Sight, planted_logit
from skillsv.benchmarks.planted.skills import mark
from skillsv.model.task import Task


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
    """How a game should look from outside: tasks, and the scores of the bare agent, of {m} and of the whole skill."""

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

STRATA = ("lookup", "compute", "compare", "explain")


def make_task(number: int, stratum: str, formula: Mapping[str, Any]) -> Task:
    """A task that the planted agent solves or not; the answer is compared word for word."""
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


def deal_roles(units: int, rng: np.random.Generator) -> dict[str, Role]:
    """Roles for `units` marks in random order: a sixth strong, a third weak, pairs, a few harmful, the rest dead."""
    pairs = max(1, units // 12)
    harmful = max(1, units // 20)
    strong, weak = max(1, units // 6), units // 3
    roles = [Role.STRONG] * strong + [Role.WEAK] * weak + [Role.OR, Role.AND] * (2 * pairs) + [Role.HARMFUL] * harmful
    roles += [Role.DEAD] * (units - len(roles))
    dealt = rng.permutation(np.array(roles[:units], dtype=object))
    return {mark(number + 1): role for number, role in enumerate(dealt)}


def deal_tasks(roles: Mapping[str, Role], target: Target, rng: np.random.Generator) -> tuple[Task, ...]:
    """Tasks in strata whose scores at {m} and N meet the target: gained, kept, lost and hopeless ones."""
    solved_m, solved_n = round(target.trigger * target.tasks), round(target.full * target.tasks)
    lost = 2
    kinds = ["gain"] * (solved_n - solved_m + lost) + ["lost"] * lost + ["kept"] * (solved_m - lost)
    kinds += ["never"] * (target.tasks - len(kinds))
    dealt = rng.permutation(np.array(kinds, dtype=object))
    cast = _Cast(roles, rng)
    formulas = [cast.formula(str(kind)) for kind in dealt]
    bare = _bare(formulas, round(target.empty * target.tasks) - solved_m, rng)
    return tuple(
        make_task(number, STRATA[number % len(STRATA)], {**formula, "bare": bare[number]})
        for number, formula in enumerate(formulas)
    )


def _bare(formulas: list[dict[str, Any]], extra: int, rng: np.random.Generator) -> list[float]:
    """Logits of the bare agent: those of {m}, but for as many tasks as the trigger itself gains or loses."""
    bare = [float(formula["base"]) for formula in formulas]
    pool = [place for place, base in enumerate(bare) if (base > 0) == (extra < 0)]
    for place in rng.choice(np.array(pool), size=abs(extra), replace=False) if extra else ():
        bare[place] = -bare[place]
    return bare


class _Cast:
    """Writes formulas for the units that play each role."""

    def __init__(self, roles: Mapping[str, Role], rng: np.random.Generator) -> None:
        self.rng = rng
        self.of = {role: [name for name, played in roles.items() if played is role] for role in Role}
        self.everything = Sight(frozenset(roles), 0)

    def formula(self, kind: str) -> dict[str, Any]:
        made = {"gain": self._gain, "kept": self._kept, "lost": self._lost, "never": self._never}[kind]()
        for name in self._some(Role.WEAK, 3):
            # Faint effects that only a stochastic agent shows; too small to turn a deterministic answer.
            made["main"].setdefault(name, round(float(self.rng.normal(0, 0.05)), 3))
        wanted = kind in {"gain", "kept"}
        logit = planted_logit(made, self.everything)
        if (logit > 0) is not wanted:
            raise AssertionError(f"a {kind} task came out with logit {logit}")
        return made

    def _some(self, role: Role, count: int) -> list[str]:
        names = self.of[role]
        return [str(name) for name in self.rng.choice(names, size=min(count, len(names)), replace=False)]

    def _pair(self, role: Role) -> list[str]:
        names = self.of[role]
        first = 2 * int(self.rng.integers(len(names) // 2))
        return names[first : first + 2]

    def _gain(self) -> dict[str, Any]:
        way = self.rng.choice(["strong", "or", "and", "vote"], p=[0.4, 0.2, 0.2, 0.2])
        if way == "strong":
            main = {self._some(Role.STRONG, 1)[0]: 2.0}
            if self.rng.random() < 0.25:
                main[self._some(Role.HARMFUL, 1)[0]] = -0.5
            return {"base": -1.0, "main": main}
        if way == "vote":
            return {"base": -1.0, "main": dict.fromkeys(self._some(Role.WEAK, 4), 0.6)}
        group = [self._pair(Role.OR if way == "or" else Role.AND), 2.0]
        return {"base": -1.0, "main": {}, "any" if way == "or" else "all": [group]}

    def _kept(self) -> dict[str, Any]:
        if self.rng.random() < 0.15:
            rescue = [[*self._some(Role.STRONG, 1), *self._some(Role.WEAK, 1)], 2.0]
            return {"base": 1.0, "main": {self._some(Role.HARMFUL, 1)[0]: -1.8}, "any": [rescue]}
        return {"base": 1.0, "main": {}}

    def _lost(self) -> dict[str, Any]:
        return {"base": 1.0, "main": {self._some(Role.HARMFUL, 1)[0]: -2.0}}

    def _never(self) -> dict[str, Any]:
        return {"base": -2.0, "main": dict.fromkeys(self._some(Role.WEAK, 2), 0.4)}
