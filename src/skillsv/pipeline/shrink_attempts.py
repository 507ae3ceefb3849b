"""The sets that a shrink proves in turn: by the posterior (noisy agent), by trials or by values (steady one)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.confirmation.paired_proof import HALFWAY, PairedProof
from skillsv.model.shrink_document import ShrinkStopDocument
from skillsv.model.value import UnitReport
from skillsv.pipeline.deletion_choice import ChosenSet
from skillsv.pipeline.shared_choice import AgentEvidence, choose_shared_sets
from skillsv.pipeline.shrink_choice import Evidence, choose_by_posterior, choose_by_trials, proof_pairs, start_trials
from skillsv.pipeline.shrink_explanations import explain_trials, explain_values
from skillsv.pipeline.shrink_plan import ShrinkPlan, plan_after_trials
from skillsv.pipeline.shrink_proof import NO_PROOF, NewVersion, ProofOutcomes, ProofSession

CHOICE_STREAM = 17
"""Random stream of the choice and of the bounds of the proof."""

MakeVersion = Callable[..., Awaitable[NewVersion]]
"""Makes the files without a set; an editor may rewrite them. `spare`: the set is tried only if others fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The sets in turn, their versions, what their proofs show, and the rollouts that trials took.

    `stopped` says why no set was proposed.
    """

    chosen: tuple[ChosenSet, ...] = ()
    versions: tuple[NewVersion, ...] = ()
    outcomes: ProofOutcomes = NO_PROOF
    trials: int = 0
    stopped: ShrinkStopDocument | None = None

    @property
    def proved(self) -> NewVersion | None:
        """The version that is shown to be no worse."""
        return self.versions[len(self.outcomes.results) - 1] if self.outcomes.passed else None


async def attempt_by_posterior(
    session: ProofSession, evidence: Evidence, plan: ShrinkPlan, make_version: MakeVersion
) -> Attempts:
    """Noisy agent: the sets with the most expected proven tokens, all chosen before the first proof."""
    choice, _ = _streams(session)
    return await _prove_in_turn(session, evidence, plan, choose_by_posterior(evidence, plan, choice), make_version)


async def attempt_by_values(
    session: ProofSession,
    evidence: Evidence,
    plan: ShrinkPlan,
    make_version: MakeVersion,
    *,
    units: Sequence[UnitReport],
) -> Attempts:
    """Steady agent whose units were valued: the sets with the most expected proven tokens that give no gain away."""
    shown = AgentEvidence(evidence=evidence, units=units, plan=plan, noisy=False)
    sets = choose_shared_sets([shown], [session.prepared.job.settings.seed, CHOICE_STREAM])
    chosen = tuple(one.for_each[0] for one in sets)
    return await _prove_in_turn(session, evidence, plan, chosen, make_version)


async def _prove_in_turn(
    session: ProofSession,
    evidence: Evidence,
    plan: ShrinkPlan,
    chosen: tuple[ChosenSet, ...],
    make_version: MakeVersion,
) -> Attempts:
    versions = tuple([await make_version(one, spare=number > 0) for number, one in enumerate(chosen)])
    if not versions:
        return Attempts(stopped=explain_values(evidence, plan))
    _, bounds = _streams(session)
    proof = _make_proof(session, evidence, plan)
    claims = plan.goal.claims(len(versions))
    outcomes = await session.prove(proof, versions, claims, rollouts=plan.size.rollouts, rng=bounds)
    return Attempts(chosen=chosen, versions=versions, outcomes=outcomes)


async def attempt_by_trials(
    session: ProofSession, evidence: Evidence, plan: ShrinkPlan, make_version: MakeVersion
) -> Attempts:
    """Steady agent: the set that trials leave; if its proof loses tasks, it is mended and proved on the other tasks."""
    choice, bounds = _streams(session)
    trials = start_trials(evidence)
    await session.run_trials(trials, [task.id for task in session.prepared.panel_a.tasks], plan.trials, choice)
    plan = plan_after_trials(plan, trials.used)
    proof = _make_proof(session, evidence, plan)
    attempts = Attempts(trials=trials.used)
    for claim, look in plan.goal.steady_claims(plan.size.tasks):
        chosen = choose_by_trials(evidence, trials, plan, claim.gate, choice)
        if chosen is None and not attempts.chosen:
            return replace(attempts, stopped=explain_trials(evidence, trials, plan))
        if chosen is None or chosen.removed in {one.removed for one in attempts.chosen}:
            break
        version = await make_version(chosen)
        left = plan.goal.rollouts - plan.estimate - trials.used - attempts.outcomes.rollouts
        outcomes = await session.prove(proof, [version], [claim], rollouts=left, rng=bounds, look=look)
        attempts = Attempts(
            chosen=(*attempts.chosen, chosen),
            versions=(*attempts.versions, version),
            outcomes=attempts.outcomes + outcomes,
            trials=trials.used,
        )
        if outcomes.passed or outcomes.ended or not outcomes.results or look is HALFWAY:
            break
        session.keep_mended(proof.asked_tasks())
        trials.read_proof(proof)
        proof = proof.untouched()
        room = left - outcomes.rollouts - 2 * claim.gate.tasks_needed()
        await session.run_trials(trials, outcomes.results[-1].lost, room, choice)
    return attempts


def _streams(session: ProofSession) -> tuple[np.random.Generator, np.random.Generator]:
    seed = session.prepared.job.settings.seed
    return np.random.default_rng([seed, CHOICE_STREAM]), np.random.default_rng([seed, CHOICE_STREAM, 1])


def _make_proof(session: ProofSession, evidence: Evidence, plan: ShrinkPlan) -> PairedProof:
    tasks = session.prepared.panel_a.tasks if plan.goal.same_tasks else session.held_out
    pairs = proof_pairs(evidence, plan, [task.id for task in tasks])
    return PairedProof(old=evidence.compiled.everything, pairs=pairs)
