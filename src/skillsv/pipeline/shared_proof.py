"""The proof of one shorter skill for several agents, one agent after another. Runs rollouts.

The claim is that the shorter skill is no worse for every agent. It is made only where the proof of every agent succeeds
at its level. A skill that is worse for some agent is then claimed to be no worse no more often than that agent's own
test errs (an intersection-union test), so the level needs no correction for the number of agents. It is corrected for
the number of sets, as for one agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from skillsv.confirmation.paired_proof import Claim, PairedProof, ProofResult
from skillsv.errors import SkillSVError
from skillsv.model.edit import ProofOutcome
from skillsv.model.events import Note
from skillsv.model.protocols import Listener
from skillsv.model.shrink_document import ShrinkCostDocument
from skillsv.pipeline.run import Run
from skillsv.pipeline.shared_choice import AgentEvidence, SharedSet
from skillsv.pipeline.shrink import ShrinkSteps
from skillsv.pipeline.shrink_attempts import CHOICE_STREAM
from skillsv.pipeline.shrink_choice import proof_pairs
from skillsv.pipeline.shrink_proof import NewVersion


@dataclass(slots=True, kw_only=True)
class AgentProofs:
    """The proofs of one agent in turn: they share the scores of the old skill."""

    name: str
    steps: ShrinkSteps
    run: Run
    shown: AgentEvidence
    proof: PairedProof = field(init=False)
    cost: ShrinkCostDocument | None = None

    def __post_init__(self) -> None:
        pairs = proof_pairs(self.shown.evidence, self.shown.plan, [task.id for task in self.steps.shrink.proof_tasks])
        self.proof = PairedProof(old=self.run.compiled.everything, pairs=pairs)

    async def prove(self, version: NewVersion, claim: Claim, rollouts: int, seed: Sequence[int]) -> ProofResult | None:
        """Prove a version with so many further rollouts; None where they pay for no pair."""
        outcomes = await self.steps.proof_session().prove(
            self.proof,
            [version],
            [claim],
            rollouts=self.proof.used() + rollouts,
            rng=np.random.default_rng(list(seed)),
        )
        self.cost = outcomes.cost or self.cost
        return outcomes.results[0] if outcomes.results else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProofs:
    """A proposed set, its files, and the proofs of the agents that were asked, by name. Empty: the budget ended."""

    chosen: SharedSet
    version: NewVersion
    results: Mapping[str, ProofResult]
    agents: int

    @property
    def outcome(self) -> ProofOutcome | None:
        """No worse only where it is for every agent; else what the agent shows that ended the proofs."""
        if not self.results:
            return None
        outcomes = {result.confirmation.outcome for result in self.results.values()}
        if len(self.results) == self.agents and outcomes == {ProofOutcome.NO_WORSE}:
            return ProofOutcome.NO_WORSE
        return ProofOutcome.WORSE if ProofOutcome.WORSE in outcomes else ProofOutcome.NOT_SHOWN

    @property
    def worst(self) -> ProofResult | None:
        """The proof of the agent that is worst off."""
        return min(self.results.values(), key=lambda result: result.confirmation.at_worst or 0.0, default=None)


async def prove_for_all(
    agents: Sequence[AgentProofs],
    sets: Sequence[SharedSet],
    versions: Sequence[NewVersion],
    rollouts: int,
) -> list[SetProofs]:
    """Prove one set after the other, until one is shown to be no worse for every agent or the rollouts are used up.

    The agent whose proof is least likely to succeed comes first. One that fails ends the proofs of a set: what the
    other agents would have taken goes to the next set.
    """
    goal, seed = agents[0].shown.plan.goal, agents[0].run.settings.seed
    found: list[SetProofs] = []
    claims = goal.claims(len(sets))
    for number, (chosen, version) in enumerate(zip(sets, versions, strict=True)):
        results: dict[str, ProofResult] = {}
        order = sorted(range(len(agents)), key=lambda place: chosen.for_each[place].power)
        for done, place in enumerate(order if not _proven(found) else ()):
            agent, left = agents[place], rollouts - sum(agent.proof.used() for agent in agents)
            share, stream = left // (len(agents) - done), [seed, CHOICE_STREAM, 1, number, place]
            with named_step(agent.name, f"Proof of set {number + 1} for {agent.name}.", agent.steps.listener):
                result = await agent.prove(version, claims[number], share, stream)
            if result is None:
                break
            results[agent.name] = result
            if result.confirmation.outcome is not ProofOutcome.NO_WORSE:
                break
        found.append(SetProofs(chosen=chosen, version=version, results=results, agents=len(agents)))
    return found


@contextmanager
def named_step(name: str, sentence: str, listener: Listener) -> Iterator[None]:
    """Say whose turn it is; an error names the agent."""
    listener(Note(message=sentence))
    try:
        yield
    except SkillSVError as error:
        error.where = error.where or name
        raise


def _proven(found: Sequence[SetProofs]) -> bool:
    return any(one.outcome is ProofOutcome.NO_WORSE for one in found)


def divide_rollouts(rollouts: int, most: Sequence[int]) -> list[int]:
    """The same share for everybody, except that nobody gets more than `most`: the rest is for the others."""
    shares, left = [0] * len(most), rollouts
    for number, place in enumerate(sorted(range(len(most)), key=lambda place: most[place])):
        shares[place] = min(most[place], left // (len(most) - number))
        left -= shares[place]
    return shares
