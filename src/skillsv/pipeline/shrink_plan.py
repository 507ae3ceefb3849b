"""How a shrink divides its budget: panels, the first batch, rollouts for values, the size of the proof. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.confirmation import Gate
from skillsv.confirmation.paired_proof import HALFWAY, Claim, Look
from skillsv.confirmation.power import (
    LEAST_POWER,
    USUAL_VARIANCE,
    ProofSize,
    pair_variance,
    power,
    proof_size,
)
from skillsv.model.coalition import Observation
from skillsv.model.skill import CompiledSkill
from skillsv.rollout.adaptive.task_panel import FIRST_TASKS

ESTIMATED_SHARE = 0.55
"""Share of the budget that values of a noisy agent get; the proof gets the rest."""

STEADY_TASKS = 150
"""Held-out tasks that the proof of a steady agent gets, if there are so many: each takes two rollouts."""

VALUED_TASKS = 120
"""The same where its units are valued: values take more rollouts than trials."""

STEADY_SHARE = 0.3
"""Share of the budget up to which a steady agent is run on all tasks with and without the skill's content."""

TRIED_SHARE = 0.5
"""Share of the rest that finds out by trial what a steady agent does not need; the proof gets the other half."""

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

STEADY_FIRST_SHARE = 0.4
"""The same for a steady agent, whose second set is proved on fewer tasks: two lost ones of 150, or one of 105."""

MENDING_LOOK = Look(share=0.3, least_chance=0.5)
"""The look at a steady agent's proof: with tasks lost so far, the set is mended and proved on the other tasks."""

PAIRS_OF_SAME_TASK = 2
"""Pairs on each task of a proof on the same tasks: a single one does not show the noise of its task."""

REPEATED_SHARE = 0.2
"""Share of the same tasks that has two pairs where trials need the rollouts: the noise is then known from these."""

ROLLOUTS_A_TASK = 3
"""Rollouts on each task of the first batch: {m}, the full skill, the full skill under a null change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkGoal:
    """What a shrink shall reach: a budget of rollouts for everything, and what must be proved."""

    rollouts: int
    gate: Gate
    same_tasks: bool = False

    def claims(self, sets: int, first_share: float = FIRST_SHARE) -> tuple[Claim, ...]:
        """What is proved of each set in turn. All together are wrong no more often than the level says."""
        shares = (1.0,) if sets == 1 else (first_share, 1.0 - first_share)
        error = 1 - self.gate.level
        return tuple(
            Claim(gate=replace(self.gate, level=1 - share * error), same_tasks=self.same_tasks) for share in shares
        )

    def steady_claims(self, tasks: int) -> tuple[tuple[Claim, Look], ...]:
        """The claims of a steady agent's sets, with their looks, where so many tasks are held out.

        A second set needs enough tasks that the first was not proved on. Without them there is one set.
        """
        first, second = self.claims(2, STEADY_FIRST_SHARE)
        if self.same_tasks or math.floor((1 - MENDING_LOOK.share) * tasks) < second.gate.tasks_needed():
            return ((self.claims(1)[0], HALFWAY),)
        return (first, MENDING_LOOK), (second, HALFWAY)


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
    """What the first batch shows of its tasks: scores of {m}, of the full skill, and of that under a null change."""

    trigger: tuple[float, ...]
    full: tuple[float, ...]
    changed: tuple[float, ...]
    noisy: bool
    tasks: tuple[str, ...] = ()

    @property
    def variance(self) -> float:
        """The variance of a pair's difference; zero for a steady agent."""
        return pair_variance(np.array(self.full), np.array(self.changed)) if self.noisy else 0.0

    @property
    def varied(self) -> int:
        """The number of tasks whose score a null change alters: one is a sign of noise, though no proof."""
        return int(np.count_nonzero(np.array(self.full) != np.array(self.changed)))


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
        tasks=tuple(tasks),
        noisy=(bool(tasks) and differing >= min(NOISY_IF, len(tasks)))
        or any(item.agent_is_noisy for item in observations),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkPlan:
    """How the budget is divided. `power`: the chance to prove a set that loses nothing. `measured`: after the batch.

    `trials` are the rollouts that find out what a steady agent does not need. `panel_a` and `held_out` are the numbers
    of tasks, and `batch` is what the first batch shows, if it was run.
    """

    goal: ShrinkGoal
    estimate: int
    size: ProofSize
    variance: float
    measured: bool
    trials: int = 0
    panel_a: int = 0
    held_out: int = 0
    batch: FirstBatch | None = None
    by_trials: bool = False
    by_values: bool = False

    @property
    def power(self) -> float:
        """The chance to prove a set that loses nothing."""
        return float(power(self.goal.gate, self.size, self.variance))

    @property
    def worthwhile(self) -> bool:
        """Whether the proof succeeds at least every other time, and something is left to find a set with."""
        return self.power >= LEAST_POWER and (self.trials > 0 or not self.by_trials)


def plan_shrink(goal: ShrinkGoal, panel_a: int, held_out: int, batch: FirstBatch | None = None) -> ShrinkPlan:
    """Divide the budget: by the usual noise before anything is spent, by the measured noise after the first batch."""
    first = min(first_batch_size(panel_a), goal.rollouts)
    if batch is not None and not batch.noisy:
        return replace(_plan_steady(goal, first, panel_a, held_out), batch=batch)
    variance = USUAL_VARIANCE if batch is None else batch.variance
    estimate = max(noisy_estimate(goal), first)
    rest = goal.rollouts - estimate
    size = proof_size(rest, rest if goal.same_tasks else held_out)
    return ShrinkPlan(
        goal=goal,
        estimate=estimate,
        size=size,
        variance=variance,
        measured=batch is not None,
        panel_a=panel_a,
        held_out=held_out,
        batch=batch,
    )


def _plan_steady(goal: ShrinkGoal, first: int, panel_a: int, held_out: int) -> ShrinkPlan:
    """A steady agent needs no values: trials find out what can go."""
    estimate = max(first, min(ROLLOUTS_A_TASK * panel_a, round(STEADY_SHARE * goal.rollouts)))
    rest = goal.rollouts - estimate
    if goal.same_tasks:
        least = max(goal.gate.tasks_needed(), math.ceil((1 + REPEATED_SHARE) * held_out))
        pairs = max(least, min(PAIRS_OF_SAME_TASK * held_out, round((1 - TRIED_SHARE) * rest) // 2))
    else:
        pairs = min(held_out, STEADY_TASKS, max(goal.gate.tasks_needed(), round((1 - TRIED_SHARE) * rest) // 2))
    size = proof_size(min(2 * pairs, rest), pairs)
    return ShrinkPlan(
        goal=goal,
        estimate=estimate,
        size=size,
        variance=0.0,
        measured=True,
        trials=rest - size.rollouts,
        panel_a=panel_a,
        held_out=held_out,
        by_trials=True,
    )


def with_judge(plan: ShrinkPlan, asked: int) -> ShrinkPlan:
    """The plan where a judge takes so many of the rollouts for values. The first batch stays whole.

    What values lack for it comes from the trials, then from the proof.
    """
    estimate = first_batch_size(plan.panel_a) + asked
    if not asked or estimate <= plan.estimate:
        return plan
    trials = max(plan.trials - (estimate - plan.estimate), 0)
    rest = max(plan.goal.rollouts - estimate - trials, 0)
    size = proof_size(min(rest, plan.size.rollouts), plan.size.tasks)
    return replace(plan, estimate=estimate, trials=trials, size=size)


def plan_after_trials(plan: ShrinkPlan, used: int) -> ShrinkPlan:
    """The plan when trials have used so many rollouts. On the same tasks the rest of theirs goes to the proof.

    Held-out tasks say no more when they are asked again; there the rest mends the set.
    """
    if not plan.goal.same_tasks:
        return replace(plan, trials=used)
    rest = plan.goal.rollouts - plan.estimate - used
    return replace(plan, trials=used, size=proof_size(rest, rest))


def plan_by_values(goal: ShrinkGoal, panel_a: int, held_out: int, batch: FirstBatch) -> ShrinkPlan:
    """Divide the budget where sets are chosen by values alone, for a steady agent, too: several agents share them."""
    estimate = max(noisy_estimate(goal), first_batch_size(panel_a))
    if not batch.noisy:
        needed = max(VALUED_TASKS, goal.gate.tasks_needed())
        pairs = max(PAIRS_OF_SAME_TASK * held_out, needed) if goal.same_tasks else min(held_out, needed)
        estimate = max(estimate, goal.rollouts - 2 * pairs)
    plan = ShrinkPlan(
        goal=goal,
        estimate=min(estimate, goal.rollouts),
        size=proof_size(0, held_out),
        variance=batch.variance,
        measured=True,
        panel_a=panel_a,
        held_out=held_out,
        batch=batch,
        by_values=True,
    )
    return plan_proof(plan, batch, held_out)


def noisy_estimate(goal: ShrinkGoal) -> int:
    """The rollouts that values of a noisy agent get."""
    return round(ESTIMATED_SHARE * goal.rollouts)


def plan_proof(plan: ShrinkPlan, batch: FirstBatch, held_out: int) -> ShrinkPlan:
    """The plan of the proof after the values, with noise that only the later rollouts showed."""
    rest = plan.goal.rollouts - plan.estimate
    size = proof_size(rest, rest if plan.goal.same_tasks else held_out)
    return replace(plan, size=size, variance=batch.variance)
