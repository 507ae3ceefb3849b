"""The sets that a shrink proposes to delete: by the posterior for a noisy agent, by trials for a steady one. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.confirmation import Gate
from skillsv.confirmation.gate import bounded_interval
from skillsv.confirmation.paired_proof import Pair, pairs_by_noise, pairs_in_turn
from skillsv.confirmation.power import expected_power
from skillsv.decide.deletion_sets import DeletionSet, closures
from skillsv.estimate.adaptive.deletion_draws import draw_to_choose
from skillsv.estimate.adaptive.observations import Floats, read_observations
from skillsv.model.coalition import Observation
from skillsv.model.format import plural
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Interval
from skillsv.pipeline.deletion_choice import LEAST_POWER, ChosenSet, choose_sets
from skillsv.pipeline.deletion_trials import DeletionTrials
from skillsv.pipeline.shrink_plan import ShrinkPlan

LEAST_VARIANCE = 1e-3
"""Variance of a pair's difference of a steady agent that is never fallen below."""

FITTED = 3.0
"""Tasks of trials that tell as much about other tasks as one task that the set was not fitted to."""

RARE = 0.5
"""Imaginary tasks with, and without, a loss that were not seen: other tasks than these may show one."""

LEVEL = 0.95
"""The level of the interval of a predicted change."""

STEADY_DRAWS = 200
"""Draws of what a set of a steady agent loses: the mean of a chance over them is known within .035."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a shrink chooses from: the records of the run, and what the units cost and must not lose.

    `kept` are units that must stay. `judged` is a judge's opinion on each unit, if one was asked.
    """

    compiled: CompiledSkill
    observations: Sequence[Observation]
    tokens: Mapping[str, int]
    kept: frozenset[str] = frozenset()
    judged: Mapping[str, float] | None = None

    @property
    def groups(self) -> Mapping[str, DeletionSet]:
        """The units that may go, each with what goes with it."""
        return closures(self.compiled, self.kept)


def choose_by_posterior(
    evidence: Evidence, plan: ShrinkPlan, rng: np.random.Generator, *, sets: int = 2
) -> tuple[ChosenSet, ...]:
    """The sets with the most expected proven tokens, for a noisy agent."""
    draws, checks = draw_to_choose(
        evidence.compiled,
        evidence.observations,
        rng,
        pair_variance=plan.variance,
        judged=evidence.judged,
        same_tasks=plan.goal.same_tasks,
    )
    gates = [claim.gate for claim in plan.goal.claims(sets)]
    return choose_sets(
        draws,
        checks,
        groups=evidence.groups,
        tokens=evidence.tokens,
        size=plan.size,
        gates=gates,
    )


def start_trials(evidence: Evidence) -> DeletionTrials:
    """Trials that begin with what the run has scored. Long units are deleted first; a judge's opinion goes before."""
    judged = evidence.judged or {}
    trials = DeletionTrials(
        everything=evidence.compiled.everything,
        groups=evidence.groups,
        order=sorted(evidence.compiled.execution, key=lambda unit: (judged.get(unit, 0.0), -evidence.tokens[unit])),
    )
    trials.read(evidence.observations)
    return trials


def choose_by_trials(
    evidence: Evidence, trials: DeletionTrials, plan: ShrinkPlan, gate: Gate, rng: np.random.Generator
) -> ChosenSet | None:
    """The set that trials leave, for a steady agent; None where its proof has hardly a chance, or nothing was tried.

    The set was fitted to the tasks of the trials, so it loses more on others: these tasks count only in part.
    """
    removed = trials.removed
    if not removed or not trials.tried:
        return None
    lost, gained, tasks = (amount / FITTED for amount in trials.count_changes())
    drops = rng.beta(lost + RARE, max(tasks - lost, 0.0) + RARE, size=STEADY_DRAWS) - gained / max(tasks, 1.0)
    power = float(expected_power(gate, plan.size, np.abs(drops) + LEAST_VARIANCE, drops))
    if power < LEAST_POWER:
        return None
    changes = trials.changes(removed)
    drop = predict_drop(changes, rng.spawn(1)[0])  # a stream of its own: what is asked later does not depend on it
    tokens = sum(evidence.tokens[unit] for unit in removed)
    return ChosenSet(removed=removed, tokens=tokens, power=power, drop=drop, basis=_describe_tasks(changes))


def predict_drop(changes: Mapping[str, float | None], rng: np.random.Generator) -> Interval:
    """The mean loss that trials saw on their tasks, with a 95 % interval for tasks like these; a gain is negative.

    A task on which the full skill scores nothing was not asked, and may gain anything: it counts as no change in the
    mean, and as the largest gain where the interval ends.
    """
    least, most = (
        np.array([unknown if change is None else change for change in changes.values()]) for unknown in (0.0, 1.0)
    )
    low, _ = bounded_interval(least, LEVEL, rng, bounds=(-1.0, 1.0))
    _, high = bounded_interval(most, LEVEL, rng, bounds=(-1.0, 1.0))
    return Interval(-float(least.mean()), -high, -low)


def _describe_tasks(changes: Mapping[str, float | None]) -> str:
    """On which tasks the change was seen."""
    unknown = sum(change is None for change in changes.values())
    seen = f"seen on {plural(len(changes) - unknown, 'task')} of the trials"
    if not unknown:
        return seen
    return f"{seen}; {plural(unknown, 'task')} on which the full skill scores nothing may gain"


def proof_pairs(evidence: Evidence, plan: ShrinkPlan, held_out: Sequence[str]) -> list[Pair]:
    """The pairs of a proof in order: held-out tasks in turn, or the same tasks by their noise."""
    if not plan.goal.same_tasks:
        return pairs_in_turn(held_out, plan.size.pairs)
    observed = read_observations(evidence.compiled, evidence.observations)
    scores = observed.net
    deviations = {task: _deviation(scores.score[scores.task == number]) for number, task in enumerate(observed.tasks)}
    return pairs_by_noise(deviations, plan.size.pairs)


def _deviation(scores: Floats) -> float:
    """The deviation of a coin with about the mean of these scores."""
    rate = (float(scores.sum()) + 1.0) / (len(scores) + 2.0)
    return math.sqrt(rate * (1.0 - rate))
