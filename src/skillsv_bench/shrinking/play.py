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
from skillsv.extend.shrinking import (
    ChosenSet,
    Evidence,
    FirstBatch,
    PairedProof,
    ProofResult,
    ShrinkGoal,
    ShrinkPlan,
    choose_by_posterior,
    choose_by_trials,
    first_batch_size,
    plan_after_trials,
    plan_shrink,
    proof_pairs,
    read_first_batch,
    start_trials,
)
from skillsv.model.coalition import Coalition
from skillsv.model.edit import ProofOutcome
from skillsv.model.rollout import Request, RequestScores
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
    batch = _batch(table, estimate(table, ledger, first_batch_size(len(table.panel_a))))
    plan = plan_shrink(goal, len(table.panel_a), len(table.held_out), batch)
    record = estimate(table, ledger, plan.estimate)
    late = _batch(table, record)
    if late.noisy and not batch.noisy:  # noise that the first batch did not show
        plan = plan_shrink(goal, len(table.panel_a), len(table.held_out), late)
        record = estimate(table, ledger, plan.estimate)
    evidence = evidence_of(table, record, judged)
    if not late.noisy:
        return _play_steady(table, ledger, evidence, plan, rng)
    chosen = choose_by_posterior(evidence, plan, rng)
    results = prove_in_turn(evidence, table.held_out, ledger, plan, [one.removed for one in chosen], rng=rng)
    return Play(plan=plan, noisy=True, chosen=chosen, results=results, spent=ledger.spent)


def _play_steady(
    table: Table, ledger: MemoryLedger, evidence: Evidence, plan: ShrinkPlan, rng: np.random.Generator
) -> Play:
    """Trials, a proof, and where it loses tasks a mended set on the other tasks, as the product does."""
    everything: Coalition = evidence.compiled.everything
    trials = start_trials(evidence)
    ledger.run(trials.run(table.panel_a, plan.trials, rng))
    plan = plan_after_trials(plan, trials.used)
    proof = PairedProof(old=everything, pairs=proof_pairs(evidence, plan, table.held_out))
    chosen: list[ChosenSet] = []
    results: list[ProofResult] = []
    for claim, look in plan.goal.steady_claims(plan.size.tasks):
        one = choose_by_trials(evidence, trials, plan, claim.gate, rng)
        left = plan.goal.rollouts - ledger.spent
        if (
            one is None
            or one.removed in {other.removed for other in chosen}
            or not proof.affordable(everything - one.removed, left)
        ):
            break
        chosen.append(one)
        results.append(ledger.run(proof.run(everything - one.removed, left, claim, rng, look)))
        if results[-1].confirmation.outcome is ProofOutcome.NO_WORSE:
            break
        trials.read_proof(proof)
        proof = proof.untouched()
        room = plan.goal.rollouts - ledger.spent - 2 * claim.gate.tasks_needed()
        ledger.run(trials.run(results[-1].lost, room, rng))
    return Play(plan=plan, noisy=False, chosen=tuple(chosen), results=tuple(results), spent=ledger.spent)


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
