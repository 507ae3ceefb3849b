"""Plays `shrink` on a game in memory: the policies, the plan, the choice and the proof are those of the product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from skillsv.extend.estimators import (
    AdaptiveOptions,
    AdaptiveProblem,
    AdaptiveRecord,
    MaxRollouts,
    Policy,
    Renderer,
    Sampler,
    adaptive_policy,
)
from skillsv.extend.settings import settings_from
from skillsv.extend.shrinking import (
    ChosenSet,
    Evidence,
    FirstBatch,
    PairedProof,
    ProofResult,
    RolloutResult,
    ShrinkGoal,
    ShrinkPlan,
    build_valuation,
    choose_by_posterior,
    choose_by_values,
    first_batch_size,
    plan_proof,
    plan_shrink,
    proof_pairs,
    read_first_batch,
)
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.edit import ProofOutcome
from skillsv.model.rollout import Request, RequestScores, Usage
from skillsv.model.value import Spending
from skillsv_bench.families import FamilyGame, FamilyNoise, FamilyPlayer

T = TypeVar("T")

PROOF_STREAM = 31
"""Random stream of the choice and of the bounds of a proof."""


class MemoryLedger:
    """Answers requests of policies from a game, each once, and counts them."""

    def __init__(self, player: FamilyPlayer) -> None:
        self._player = player
        self._scores: dict[Request, float | None] = {}

    @property
    def spent(self) -> int:
        """The rollouts that were paid for."""
        return len(self._scores)

    def run(self, policy: Policy[T]) -> T:
        """Run a policy to its end."""
        try:
            requests = next(policy)
            while True:
                requests = policy.send(self._answer(requests))
        except StopIteration as end:
            result: T = end.value
            return result

    def _answer(self, requests: Sequence[Request]) -> RequestScores:
        keys = {request: replace(request, why="") for request in requests}
        new = [key for key in dict.fromkeys(keys.values()) if key not in self._scores]
        self._scores.update(self._player.answer(new))
        return {request: self._scores[key] for request, key in keys.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A game with its tasks divided: values are estimated on `panel_a`, proofs run on `held_out`."""

    game: FamilyGame
    noise: FamilyNoise
    noise_name: str
    panel_a: tuple[str, ...]
    held_out: tuple[str, ...]
    seed: int

    @property
    def tokens(self) -> Mapping[str, int]:
        """The tokens of every execution unit."""
        renderer = Renderer(self.game.compiled)
        return {unit: renderer.tokens_of(unit) for unit in self.game.compiled.execution}


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One shrink. `proven` is the set that was shown to be no worse, if any; `results` are its proofs in turn."""

    plan: ShrinkPlan
    noisy: bool
    chosen: tuple[ChosenSet, ...]
    results: tuple[ProofResult, ...]
    spent: int

    @property
    def proven(self) -> ChosenSet | None:
        """The set that passed."""
        passed = [
            chosen
            for chosen, result in zip(self.chosen, self.results, strict=False)
            if result.confirmation.outcome is ProofOutcome.NO_WORSE
        ]
        return passed[0] if passed else None


def play(table: Table, goal: ShrinkGoal, *, judged: Mapping[str, float] | None = None) -> Play:
    """Play the whole of `shrink`, whatever power the plan forecasts."""
    ledger = MemoryLedger(FamilyPlayer(table.game, table.noise, table.seed))
    rng = np.random.default_rng([table.seed, PROOF_STREAM])
    first = first_batch_size(len(table.panel_a))
    record = estimate(table, ledger, first)
    plan = plan_shrink(goal, len(table.panel_a), len(table.held_out), _batch(table, record))
    record = estimate(table, ledger, plan.estimate)
    if record.noisy and not plan.variance:  # noise that the first batch did not show
        plan = plan_proof(plan, _batch(table, record), len(table.held_out))
    evidence = evidence_of(table, record, judged)
    chosen = choose(table, evidence, plan, rng, noisy=record.noisy)
    results = prove_in_turn(evidence, table.held_out, ledger, plan, [one.removed for one in chosen], rng=rng)
    return Play(plan=plan, noisy=record.noisy, chosen=chosen, results=results, spent=ledger.spent)


def evidence_of(
    table: Table, record: AdaptiveRecord | None = None, judged: Mapping[str, float] | None = None
) -> Evidence:
    """What the product chooses from."""
    observations = () if record is None else record.observations
    return Evidence(compiled=table.game.compiled, observations=observations, tokens=table.tokens, judged=judged)


def _batch(table: Table, record: AdaptiveRecord) -> FirstBatch:
    return read_first_batch(table.game.compiled, record.observations)


def estimate(table: Table, ledger: MemoryLedger, rollouts: int) -> AdaptiveRecord:
    """Run the adaptive policy until the record holds so many rollouts."""
    compiled = table.game.compiled
    problem = AdaptiveProblem(
        units=compiled.execution,
        trigger=compiled.trigger,
        needs=compiled.needs,
        tasks=table.panel_a,
        sample_order=Sampler(compiled).sample,
        strata={task.id: task.stratum for task in table.game.tasks},
    )
    return ledger.run(adaptive_policy(problem, AdaptiveOptions(stop=MaxRollouts(rollouts)), table.seed))


def choose(
    table: Table, evidence: Evidence, plan: ShrinkPlan, rng: np.random.Generator, *, noisy: bool
) -> tuple[ChosenSet, ...]:
    """The sets to prove, as the product chooses them."""
    if noisy:
        return choose_by_posterior(evidence, plan, rng)
    result = RolloutResult(
        observations=tuple(evidence.observations), spending=Spending(spent=0, reused=0, failed=0), usage=Usage()
    )
    settings = settings_from({"operators": (Operator.DELETE.value,), "seed": table.seed})
    units = build_valuation(evidence.compiled, settings, "", result).units
    return choose_by_values(evidence, units, plan, rng)


def prove_in_turn(
    evidence: Evidence,
    held_out: Sequence[str],
    ledger: MemoryLedger,
    plan: ShrinkPlan,
    removed: Sequence[frozenset[str]],
    *,
    rng: np.random.Generator,
) -> tuple[ProofResult, ...]:
    """Prove one set after the other, until one passes or the budget is used up."""
    everything: Coalition = evidence.compiled.everything
    proof = PairedProof(old=everything, pairs=proof_pairs(evidence, plan, held_out))
    results: list[ProofResult] = []
    for units, claim in zip(removed, plan.goal.claims(max(len(removed), 1)), strict=False):
        rollouts = plan.size.rollouts - proof.used()
        if not proof.affordable(everything - units, rollouts):
            break
        results.append(ledger.run(proof.run(everything - units, rollouts, claim, rng)))
        if results[-1].confirmation.outcome is ProofOutcome.NO_WORSE:
            break
    return tuple(results)
