"""What a budget buys: the share of units that get a verdict, and the power of a proof."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.confirmation import smallest_drop
from skillsv.confirmation.gate import Gate
from skillsv.confirmation.power import USUAL_VARIANCE, ProofSize, power
from skillsv.model.format import count, percent, plural, points, short_points
from skillsv.model.plan_document import BudgetDocument

BUDGETS = (200, 400, 800, 1600)
"""Rollouts of the rows of the table."""

VERSIONS = 4
"""Versions that a proof scores on every task: no skill, the trigger, the old skill and the new one."""

_DECIDED = "Units decided: measured on games with known values."
"""Where the shares of decided units come from."""

MEASURED_UNITS = (15, 30, 60)
"""Execution units of the games that `SHARES` was measured on."""

MEASURED_TASKS = (20, 40, 80)
"""Tasks of panel A in these games."""

SHARES: Mapping[str, Sequence[Sequence[Sequence[float]]]] = {
    "deterministic": (
        (
            (0.31, 0.49, 0.60, 0.79),
            (0.03, 0.30, 0.55, 0.73),
            (0.00, 0.04, 0.49, 0.61),
        ),
        (
            (0.48, 0.48, 0.63, 0.74),
            (0.01, 0.20, 0.45, 0.59),
            (0.00, 0.01, 0.33, 0.49),
        ),
        (
            (0.04, 0.32, 0.75, 0.75),
            (0.00, 0.20, 0.33, 0.50),
            (0.00, 0.00, 0.22, 0.40),
        ),
    ),
    "noisy": (
        (
            (0.03, 0.11, 0.33, 0.81),
            (0.01, 0.05, 0.30, 0.70),
            (0.01, 0.02, 0.30, 0.60),
        ),
        (
            (0.00, 0.03, 0.32, 0.79),
            (0.00, 0.02, 0.18, 0.70),
            (0.00, 0.02, 0.21, 0.60),
        ),
        (
            (0.00, 0.00, 0.53, 0.77),
            (0.00, 0.00, 0.50, 0.76),
            (0.00, 0.00, 0.58, 0.80),
        ),
    ),
}
"""The mean share of units with a verdict, by units, tasks and `BUDGETS`; deletion alone, seven kinds of games.

`python -m skillsv_bench.families.decided` measures it; the noisy agent is the one with temperature .25.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    """What so many rollouts buy, for a deterministic and for a noisy agent.

    `decided` is the expected share of units with a verdict, `power` the chance that a skill without a loss is proved,
    if the proof may spend as many rollouts again.
    """

    rollouts: int
    decided: tuple[float, float]
    power: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetTable:
    """What each budget buys for a skill of so many units, with panels of so many tasks."""

    units: int
    tasks: int
    held_out: int
    operators: int
    gate: Gate

    def rows(self) -> list[BudgetRow]:
        """One row for each of `BUDGETS`."""
        return [
            BudgetRow(
                rollouts=budget,
                decided=(self._decided("deterministic", budget), self._decided("noisy", budget)),
                power=(self._power(budget, 0.0), self._power(budget, USUAL_VARIANCE)),
            )
            for budget in BUDGETS
        ]

    def _decided(self, agent: str, budget: int) -> float:
        """The measured share, interpolated in the logarithms of units, tasks and rollouts for each operator."""
        rollouts = budget / self.operators
        by_tasks = [[_interpolate(rollouts, BUDGETS, row) for row in by_units] for by_units in SHARES[agent]]
        by_units = [_interpolate(self.tasks, MEASURED_TASKS, row) for row in by_tasks]
        share = _interpolate(self.units, MEASURED_UNITS, by_units)
        return share * min(1.0, rollouts / BUDGETS[0])  # nothing was measured below the smallest budget

    def _power(self, budget: int, variance: float) -> float:
        """The power of a proof of so many rollouts: as many replicates as they pay for."""
        replicates = budget // (VERSIONS * self.held_out) if self.held_out else 0
        if replicates < 1:
            return 0.0
        size = ProofSize(pairs=self.held_out * replicates, tasks=self.held_out)
        return float(power(self.gate, size, variance))

    def lines(self) -> list[str]:
        """The table in words, and what the held-out tasks can show at best."""
        gate = short_points(self.gate.max_drop)
        rows = [f"{count(row.rollouts):>10}{_pair(row.decided):>22}{_pair(row.power):>26}" for row in self.rows()]
        panels = f"{plural(self.tasks, 'task')} for values, {count(self.held_out)} held out"
        size = f"{plural(self.units, 'unit')}, {panels}, {plural(self.operators, 'operator')}"
        chance = f"the chance to show that a skill without a loss loses at most {gate} points"
        return [
            f"What a budget buys: {size}; deterministic / noisy agent.",
            f"{'rollouts':>10}{'units decided':>22}{f'proof of {gate} points':>26}",
            *rows,
            f"{_DECIDED} Proof: {chance}, with as many rollouts again.",
            *self._held_out_lines(),
        ]

    def _held_out_lines(self) -> list[str]:
        needed = self.gate.tasks_needed()
        if not self.held_out or self.held_out >= needed:
            return []
        least = points(smallest_drop(self.held_out, self.gate.level), signed=False)
        best = f"{plural(self.held_out, 'held-out task')} rule out a drop of {least} points at best, unless scores rise"
        return [f"{best}; {short_points(self.gate.max_drop)} points need {needed}."]

    def to_list(self) -> list[BudgetDocument]:
        """The rows as JSON values."""
        return [
            {
                "rollouts": row.rollouts,
                "decided": {"deterministic": row.decided[0], "noisy": row.decided[1]},
                "power": {"deterministic": row.power[0], "noisy": row.power[1]},
            }
            for row in self.rows()
        ]


def _interpolate(value: float, places: Sequence[float], shares: Sequence[float]) -> float:
    """Between measured places by the logarithm; beyond them as at the nearest."""
    return float(np.interp(math.log(max(value, 1)), [math.log(place) for place in places], shares))


def _pair(shares: tuple[float, float]) -> str:
    return f"{percent(shares[0])} / {percent(shares[1])}"
