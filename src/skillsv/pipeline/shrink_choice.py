"""The sets that a shrink proposes to delete: by the posterior for a noisy agent, by values for a steady one. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.confirmation.paired_proof import Pair, pairs_by_noise, pairs_in_turn
from skillsv.confirmation.power import expected_power
from skillsv.decide import find_removable
from skillsv.decide.deletion_sets import DeletionSet, candidate_sets, closures
from skillsv.estimate.adaptive import make_predictor
from skillsv.estimate.adaptive.deletion_draws import DRAWS, draw_deletions
from skillsv.estimate.adaptive.observations import Floats, read_observations
from skillsv.model.coalition import Observation
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import REMOVABLE, Interval, UnitReport
from skillsv.pipeline.deletion_choice import LEAST_POWER, SMALLER, ChosenSet, choose_sets, keeps_gains
from skillsv.pipeline.shrink_plan import ShrinkPlan

LEAST_VARIANCE = 1e-3
"""Variance of a pair's difference of a steady agent that is never fallen below."""

HIDDEN = 1.0
"""Loss that no rollout has found yet, in standard errors of the set."""

RARE = 0.5
"""Imaginary tasks with, and without, a loss that were not seen: other tasks than these may show one."""


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
    drawn = draw_deletions(
        evidence.compiled,
        evidence.observations,
        rng,
        pair_variance=plan.variance,
        judged=evidence.judged,
        same_tasks=plan.goal.same_tasks,
        draws=2 * DRAWS,
    )
    gates = [claim.gate for claim in plan.goal.claims(sets)]
    return choose_sets(
        drawn.part(slice(None, DRAWS)),
        drawn.part(slice(DRAWS, None)),
        groups=evidence.groups,
        tokens=evidence.tokens,
        size=plan.size,
        gates=gates,
    )


def choose_by_values(
    evidence: Evidence, units: Sequence[UnitReport], plan: ShrinkPlan, rng: np.random.Generator, *, sets: int = 2
) -> tuple[ChosenSet, ...]:
    """The sets with the most expected proven tokens, for a steady agent; a unit that no rollout has tested stays.

    The units with the verdicts delete and harmful are one of the candidates. What a set loses is predicted by the
    scores of patterns; the errors of its units, and what other tasks may show, make it uncertain.
    """
    candidates = _steady_candidates(evidence, units)
    least = min(_steady_drops(evidence, units, candidates, rng).mean(axis=1).tolist(), default=0.0)
    chosen: list[ChosenSet] = []
    most = float("inf")
    for claim in plan.goal.claims(sets):
        options = [removed for removed in candidates if 0 < _count(evidence, removed) <= most]
        if not options:
            break
        drops = _steady_drops(evidence, units, options, rng)
        power = expected_power(claim.gate, plan.size, np.abs(drops) + LEAST_VARIANCE, drops)
        worth = power * keeps_gains(drops.mean(axis=1), claim.gate, least)
        best = int(np.argmax(worth * [_count(evidence, removed) for removed in options]))
        if worth[best] < LEAST_POWER:
            break
        low, high = np.quantile(drops[best], [0.025, 0.975]).tolist()
        tokens = _count(evidence, options[best])
        drop = Interval(float(drops[best].mean()), low, high)
        chosen.append(ChosenSet(removed=options[best], tokens=tokens, power=float(power[best]), drop=drop))
        most = SMALLER * tokens
    return tuple(chosen)


def _count(evidence: Evidence, removed: Iterable[str]) -> int:
    return sum(evidence.tokens[unit] for unit in removed)


def _steady_candidates(evidence: Evidence, units: Sequence[UnitReport]) -> list[DeletionSet]:
    """Prefixes of three orders of the tested units, and the units that the verdicts remove."""
    tested = {unit.id for unit in units if unit.value.has_value}
    groups = {unit: group for unit, group in evidence.groups.items() if group <= tested}
    rows = [unit for unit in units if unit.id in groups]
    keys = (
        lambda unit: unit.value.net.value,
        lambda unit: unit.value.net.value + unit.value.standard_error,
        lambda unit: (unit.value.net.value + unit.value.standard_error / 2) / max(evidence.tokens[unit.id], 1),
    )
    orders = [[unit.id for unit in sorted(rows, key=key)] for key in keys]
    removable = find_removable(evidence.compiled, (unit.verdict for unit in units), REMOVABLE)
    verdicts = frozenset(unit for unit in removable if groups.get(unit, frozenset({""})) <= removable)
    return [*candidate_sets(orders, groups), *([verdicts] if verdicts else [])]


def _steady_drops(
    evidence: Evidence, units: Sequence[UnitReport], options: Sequence[DeletionSet], rng: np.random.Generator
) -> Floats:
    """Draws of what each set loses on tasks like these [sets, draws]."""
    predict, everything = make_predictor(evidence.compiled, evidence.observations), evidence.compiled.everything
    full = predict(everything)
    errors = {unit.id: unit.value.standard_error for unit in units}
    tasks = len({item.task for item in evidence.observations})
    mean = np.array([full - predict(everything - removed) for removed in options])
    spread = np.array([sum(errors[unit] ** 2 for unit in removed) ** 0.5 for removed in options])
    # Effects that no rollout has found are losses: they make every set look better than it is.
    here = mean[:, None] + spread[:, None] * (HIDDEN + rng.standard_normal(DRAWS))
    lost, gained = np.clip(here, 0.0, 1.0) * tasks, np.clip(-here, 0.0, 1.0) * tasks
    drops: Floats = rng.beta(lost + RARE, tasks - lost + RARE) - rng.beta(gained + RARE, tasks - gained + RARE)
    return drops


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
