"""How a shrink divides its budget: panels, the first batch, rollouts for values, the size of the proof. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.confirmation import Gate
from skillsv.confirmation.paired_proof import Claim
from skillsv.confirmation.power import (
    LEAST_POWER,
    USUAL_VARIANCE,
    ProofSize,
    pair_variance,
    pairs_needed,
    power,
    proof_size,
    smallest_gate,
)
from skillsv.model.coalition import Observation
from skillsv.model.format import count, percent, plural, short_points
from skillsv.model.skill import CompiledSkill
from skillsv.rollout.adaptive.task_panel import FIRST_TASKS

ESTIMATED_SHARE = 0.55
"""Share of the budget that values of a noisy agent get; the proof gets the rest."""

STEADY_TASKS = 120
"""Held-out tasks that the proof of a steady agent gets, if there are so many: each takes two rollouts."""

FEW_TASKS = 20
"""The least tasks to estimate on, where tasks are few."""

NOISY_TASKS = 40
"""Tasks to estimate on; the other tasks prove more than they would tell about values."""

MANY_TASKS = 60
"""Tasks to estimate on where there are many: a steady agent makes use of all of them."""

PLENTY = 200
"""Tasks from which on there are many."""

SMALL_BUDGET = 400
"""Rollouts up to which values are estimated on the tasks of the first batch alone."""

NOISY_IF = 2
"""Tasks of the first batch whose score a null change alters that make the agent noisy, as for the policy."""

FIRST_SHARE = 0.9
"""Share of the error rate that the first set gets, where a second one may be tried."""

PAIRS_OF_SAME_TASK = 2
"""Pairs on each task, at least, of a proof on the same tasks: a single one does not show the noise of its task."""

ROLLOUTS_A_TASK = 3
"""Rollouts on each task of the first batch: {m}, the full skill, the full skill under a null change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkGoal:
    """What a shrink shall reach: a budget of rollouts for everything, and what must be proved."""

    rollouts: int
    gate: Gate
    same_tasks: bool = False

    def claims(self, sets: int) -> tuple[Claim, ...]:
        """What is proved of each set in turn. All together are wrong no more often than the level says."""
        shares = (1.0,) if sets == 1 else (FIRST_SHARE, 1.0 - FIRST_SHARE)
        error = 1 - self.gate.level
        return tuple(
            Claim(gate=replace(self.gate, level=1 - share * error), same_tasks=self.same_tasks) for share in shares
        )


def panel_size(tasks: int, goal: ShrinkGoal) -> int:
    """The number of tasks to estimate on, of so many."""
    if goal.same_tasks:
        return tasks
    most = FIRST_TASKS if goal.rollouts <= SMALL_BUDGET else MANY_TASKS if tasks >= PLENTY else NOISY_TASKS
    spare = tasks - goal.gate.tasks_needed()
    return max(1, min(most, max(FEW_TASKS, spare), max(tasks // 2, spare)))


def first_batch_size(tasks: int) -> int:
    """The rollouts of the first batch on a panel of so many tasks."""
    return ROLLOUTS_A_TASK * min(FIRST_TASKS, tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBatch:
    """What the first batch shows: scores of {m}, of the full skill, and of the full skill under a null change."""

    trigger: tuple[float, ...]
    full: tuple[float, ...]
    changed: tuple[float, ...]
    noisy: bool

    @property
    def variance(self) -> float:
        """The variance of a pair's difference; zero for a steady agent."""
        return pair_variance(np.array(self.full), np.array(self.changed)) if self.noisy else 0.0

    @property
    def silent(self) -> bool:
        """Whether the content of the skill makes no more difference than a change that means nothing."""
        content = np.array(self.full) - np.array(self.trigger)
        nothing = np.array(self.full) - np.array(self.changed)
        if not content.any():
            return True
        error = float(content.std()) / math.sqrt(max(len(content), 1))
        rarely = int(np.count_nonzero(content)) <= int(np.count_nonzero(nothing))
        return self.noisy and rarely and abs(float(content.mean())) <= error


def read_first_batch(compiled: CompiledSkill, observations: Sequence[Observation]) -> FirstBatch:
    """The scores of the tasks that have all three, and whether the agent is noisy by all that was observed."""
    trigger: dict[str, float] = {}
    full: dict[str, float] = {}
    changed: dict[str, float] = {}
    for item in observations:
        if item.score is None or item.replicate != bool(item.null_change):
            continue
        if item.coalition == {compiled.trigger}:
            trigger[item.task] = item.score
        elif item.coalition == compiled.everything:
            (changed if item.null_change else full)[item.task] = item.score
    tasks = [task for task in full if task in trigger and task in changed]
    differing = sum(full[task] != changed[task] for task in tasks)
    return FirstBatch(
        trigger=tuple(trigger[task] for task in tasks),
        full=tuple(full[task] for task in tasks),
        changed=tuple(changed[task] for task in tasks),
        noisy=differing >= min(NOISY_IF, len(tasks)) or any(item.agent_is_noisy for item in observations),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkPlan:
    """How the budget is divided. `power`: the chance to prove a set that loses nothing. `measured`: after the batch."""

    goal: ShrinkGoal
    estimate: int
    size: ProofSize
    variance: float
    measured: bool

    @property
    def power(self) -> float:
        """The chance to prove a set that loses nothing."""
        return float(power(self.goal.gate, self.size, self.variance))

    @property
    def worthwhile(self) -> bool:
        """Whether the proof succeeds at least every other time."""
        return self.power >= LEAST_POWER

    def lines(self) -> list[str]:
        """What can be proven with the budget, in sentences."""
        gate, size = self.goal.gate, self.size
        drop, what = short_points(gate.max_drop), "measured" if self.measured else "usual"
        where = "these tasks" if self.goal.same_tasks else plural(size.tasks, "held-out task")
        first = (
            f"Of {count(self.goal.rollouts)} rollouts about {count(self.estimate)} are for values and "
            f"{count(size.rollouts)} for the proof on {where}: with the {what} noise of the agent they show a skill "
            f"that loses nothing to be within {drop} points with {percent(self.power)} power."
        )
        return [first, *self._more_precise()]

    def _more_precise(self) -> list[str]:
        """What a limit of 2 points would need."""
        fine = replace(self.goal.gate, max_drop=FINE_DROP)
        pairs = pairs_needed(fine, self.variance)
        if self.goal.gate.max_drop <= FINE_DROP or pairs is None:
            return []
        rollouts = self.estimate + 2 * pairs
        return [f"Within {short_points(FINE_DROP)} points would need about {count(rollouts)} rollouts."]

    def advice(self) -> str:
        """What would help where the power is too small."""
        gate, options = self.goal.gate, []
        if self.size.tasks < gate.tasks_needed() and not self.goal.same_tasks:
            options.append(f"at least {gate.tasks_needed()} held-out tasks (now {self.size.tasks})")
        pairs = pairs_needed(gate, self.variance)
        if pairs is not None and 2 * pairs > self.size.rollouts:
            options.append(f"--max-rollouts {count(self.estimate + 2 * pairs).replace(',', '')}")
        drop = smallest_gate(gate, self.size, self.variance)
        if drop is not None and drop > gate.max_drop:
            options.append(f"--max-drop {short_points(drop)}")
        if not self.goal.same_tasks:
            options.append("--same-tasks, which proves it on these tasks alone")
        options.append("--granularity section, which needs fewer rollouts for values")
        return f"It would help: {'; '.join(options)}. --keep-going tries it nevertheless."


FINE_DROP = 0.02
"""The drop of a demanding reader: what it would need is said beside what was asked for."""


def plan_shrink(goal: ShrinkGoal, panel_a: int, held_out: int, batch: FirstBatch | None = None) -> ShrinkPlan:
    """Divide the budget: by the usual noise before anything is spent, by the measured noise after the first batch."""
    variance = USUAL_VARIANCE if batch is None else batch.variance
    estimate = round(ESTIMATED_SHARE * goal.rollouts)
    if batch is not None and not batch.noisy:
        needed = max(STEADY_TASKS, goal.gate.tasks_needed())
        pairs = max(PAIRS_OF_SAME_TASK * held_out, needed) if goal.same_tasks else min(held_out, needed)
        estimate = max(estimate, goal.rollouts - 2 * pairs)
    estimate = min(max(estimate, first_batch_size(panel_a)), goal.rollouts)
    return _with_proof(goal, estimate, held_out, variance, measured=batch is not None)


def plan_proof(plan: ShrinkPlan, batch: FirstBatch, held_out: int) -> ShrinkPlan:
    """The plan of the proof after the values, with noise that only the later rollouts showed."""
    return _with_proof(plan.goal, plan.estimate, held_out, batch.variance, measured=True)


def _with_proof(goal: ShrinkGoal, estimate: int, held_out: int, variance: float, *, measured: bool) -> ShrinkPlan:
    rest = goal.rollouts - estimate
    size = proof_size(rest, rest if goal.same_tasks else held_out)
    return ShrinkPlan(goal=goal, estimate=estimate, size=size, variance=variance, measured=measured)
