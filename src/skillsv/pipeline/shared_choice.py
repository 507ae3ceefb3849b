"""The sets that a shrink for several agents proposes to delete. Pure.

A set is worth its tokens times the chance that its proof succeeds for every agent. The agents' rollouts are separate,
so this chance is the product of the chances of the agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.confirmation import Gate
from skillsv.confirmation.power import expected_power
from skillsv.decide.agent_effects import removal_orders
from skillsv.decide.deletion_sets import DeletionSet, candidate_sets, neighbours
from skillsv.estimate.adaptive import make_predictor
from skillsv.estimate.adaptive.deletion_draws import DeletionDraws, draw_to_choose
from skillsv.estimate.adaptive.observations import Floats
from skillsv.model.value import Interval, UnitReport
from skillsv.pipeline.deletion_choice import LEAST_POWER, MOST_CHANGES, SMALLER, ChosenSet, keeps_gains, set_masks
from skillsv.pipeline.shrink_choice import LEAST_VARIANCE, RARE, STEADY_DRAWS, Evidence
from skillsv.pipeline.shrink_plan import ShrinkPlan

HIDDEN = 1.0
"""Loss of a steady agent that no rollout has found yet, in standard errors of the set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEvidence:
    """What one agent showed: its records and values, and the size of its proof."""

    evidence: Evidence
    units: Sequence[UnitReport]
    plan: ShrinkPlan
    noisy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSet:
    """A set to delete for all agents. `power` is the chance that every proof succeeds; `for_each` is in their order."""

    removed: DeletionSet
    tokens: int
    power: float
    for_each: tuple[ChosenSet, ...]

    @property
    def worst(self) -> ChosenSet:
        """The set as the agent sees it that is predicted to lose most."""
        return max(self.for_each, key=lambda chosen: chosen.drop.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetForecast:
    """For each set and draw what one agent loses, and the variance of a pair's difference [sets, draws]."""

    drop: Floats
    variance: Floats


DrawForecast = Callable[[Sequence[DeletionSet]], SetForecast]
"""Forecasts sets for one agent; the same draws at every call."""


def choose_shared_sets(agents: Sequence[AgentEvidence], seed: Sequence[int], *, sets: int = 2) -> tuple[SharedSet, ...]:
    """The sets to prove in turn for every agent: the best one, then the best among clearly smaller ones.

    What a set is described with comes from draws that did not choose it.
    """
    choosing, checks = zip(*(_forecasts(agent, [*seed, place]) for place, agent in enumerate(agents)), strict=True)
    evidence = agents[0].evidence
    orders, groups = removal_orders(evidence.compiled, [agent.units for agent in agents], evidence.kept)
    search = _Search(agents=agents, draws=choosing, tokens=evidence.tokens, groups=groups)
    candidates = candidate_sets(orders, groups)
    chosen: list[SharedSet] = []
    most = float("inf")
    for claim in agents[0].plan.goal.claims(sets):
        options = [removed for removed in candidates if 0 < search.count(removed) <= most]
        if not options:
            break
        search = replace(search, least=search.least_drop(options, claim.gate) if not chosen else search.least)
        best, worth = search.best(options, claim.gate)
        if worth <= 0.0:
            break
        if not chosen:
            best = search.improve(best, claim.gate)
        described = replace(search, draws=checks).describe(best, claim.gate)
        if described.power < LEAST_POWER:
            break
        chosen.append(described)
        most = SMALLER * described.tokens
    return tuple(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """Evaluates sets for all agents. `least` is the mean loss over the agents of the best set; it may be a gain."""

    agents: Sequence[AgentEvidence]
    draws: Sequence[DrawForecast]
    tokens: Mapping[str, int]
    groups: Mapping[str, DeletionSet]
    least: float = 0.0

    def count(self, removed: DeletionSet) -> int:
        """The tokens of a set."""
        return sum(self.tokens[unit] for unit in removed)

    def forecast(self, options: Sequence[DeletionSet], gate: Gate) -> tuple[Floats, Floats]:
        """For each agent and set the chance of the proof, and the mean loss [agents, sets]."""
        found = [draw(options) for draw in self.draws]
        powers = [
            expected_power(gate, agent.plan.size, one.variance, one.drop)
            for agent, one in zip(self.agents, found, strict=True)
        ]
        return np.array(powers), np.array([one.drop.mean(axis=1) for one in found])

    def least_drop(self, options: Sequence[DeletionSet], gate: Gate) -> float:
        """The mean loss over the agents of the best set that can be proven at all."""
        powers, drops = self.forecast(options, gate)
        return min(drops.mean(axis=0)[powers.prod(axis=0) >= LEAST_POWER].tolist(), default=0.0)

    def best(self, options: Sequence[DeletionSet], gate: Gate) -> tuple[DeletionSet, float]:
        """The set with the most expected proven tokens, and these tokens; 0 for sets that give a gain away."""
        powers, drops = self.forecast(options, gate)
        kept = keeps_gains(drops.mean(axis=0), gate, self.least)
        worth = powers.prod(axis=0) * kept * [self.count(one) for one in options]
        place = int(np.argmax(worth))
        return options[place], float(worth[place])

    def improve(self, removed: DeletionSet, gate: Gate) -> DeletionSet:
        """Add or take back units one by one, while that is worth more."""
        best, worth = self.best([removed], gate)
        for _ in range(MOST_CHANGES):
            options = [other for other in neighbours(best, self.groups) if other]
            if not options:
                break
            other, more = self.best(options, gate)
            if more <= worth * (1 + 1e-6):
                break
            best, worth = other, more
        return best

    def describe(self, removed: DeletionSet, gate: Gate) -> SharedSet:
        """The set with its chances and losses."""
        tokens = self.count(removed)
        powers, _ = self.forecast([removed], gate)
        rows = [draw([removed]).drop[0] for draw in self.draws]
        each = tuple(
            ChosenSet(removed=removed, tokens=tokens, power=float(power), drop=_interval(row))
            for power, row in zip(powers[:, 0], rows, strict=True)
        )
        return SharedSet(removed=removed, tokens=tokens, power=float(powers.prod()), for_each=each)


def _interval(drops: Floats) -> Interval:
    low, high = np.quantile(drops, [0.025, 0.975]).tolist()
    return Interval(float(drops.mean()), low, high)


def _forecasts(agent: AgentEvidence, seed: Sequence[int]) -> tuple[DrawForecast, DrawForecast]:
    """Two forecasts of the same agent with draws of their own: one to choose by, one to describe by."""
    if not agent.noisy:
        return _steady_forecast(agent, [*seed, 0]), _steady_forecast(agent, [*seed, 1])
    evidence, plan = agent.evidence, agent.plan
    draws, checks = draw_to_choose(
        evidence.compiled,
        evidence.observations,
        np.random.default_rng(list(seed)),
        pair_variance=plan.variance,
        same_tasks=plan.goal.same_tasks,
    )

    def forecast_by(drawn: DeletionDraws) -> DrawForecast:
        def forecast(options: Sequence[DeletionSet]) -> SetForecast:
            drops = drawn.of_sets(set_masks(drawn, options))
            return SetForecast(drop=drops.if_chosen, variance=drops.variance(plan.size.pairs, plan.size.tasks))

        return forecast

    return forecast_by(draws), forecast_by(checks)


def _steady_forecast(agent: AgentEvidence, seed: Sequence[int]) -> DrawForecast:
    def forecast(options: Sequence[DeletionSet]) -> SetForecast:
        drops = _steady_drops(agent, options, np.random.default_rng(list(seed)))
        return SetForecast(drop=drops, variance=np.abs(drops) + LEAST_VARIANCE)

    return forecast


def _steady_drops(agent: AgentEvidence, options: Sequence[DeletionSet], rng: np.random.Generator) -> Floats:
    """Draws of what each set loses on tasks like these [sets, draws]."""
    compiled, observations = agent.evidence.compiled, agent.evidence.observations
    predict, everything = make_predictor(compiled, observations), compiled.everything
    full = predict(everything)
    errors = {unit.id: unit.value.standard_error for unit in agent.units}
    tasks = len({item.task for item in observations})
    mean = np.array([full - predict(everything - removed) for removed in options])
    spread = np.array([sum(errors[unit] ** 2 for unit in removed) ** 0.5 for removed in options])
    # Effects that no rollout has found are losses: they make every set look better than it is.
    here = mean[:, None] + spread[:, None] * (HIDDEN + rng.standard_normal(STEADY_DRAWS))
    lost, gained = np.clip(here, 0.0, 1.0) * tasks, np.clip(-here, 0.0, 1.0) * tasks
    drops: Floats = rng.beta(lost + RARE, tasks - lost + RARE) - rng.beta(gained + RARE, tasks - gained + RARE)
    return drops
