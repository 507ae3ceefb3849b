"""Trials and proof of a shrink: sessions, versions under null changes, and what a run of the agent costs in each."""

from __future__ import annotations

import math
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from skillsv.compiler import compile_skill
from skillsv.confirmation import Proof
from skillsv.confirmation.paired_proof import HALFWAY, REASON, Claim, Look, Pair, PairedProof, ProofResult
from skillsv.errors import BudgetReached
from skillsv.model.coalition import Coalition, Operator, Rendering
from skillsv.model.edit import ProofOutcome
from skillsv.model.events import Note
from skillsv.model.format import count
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Request, Rollout
from skillsv.model.shrink_document import RunCostDocument, ShrinkCostDocument
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import Task
from skillsv.model.value import UNKNOWN, Anchors
from skillsv.pipeline.content_effect import ContentPair, ask_pairs
from skillsv.pipeline.deletion_trials import DeletionTrials
from skillsv.pipeline.job import PreparedRun, make_renderer
from skillsv.pipeline.mended_tasks import keep_mended
from skillsv.pipeline.proof_sizes import ProofSizes
from skillsv.pipeline.session import REVISED, Session, open_runner, runner_options
from skillsv.pipeline.shrink_spending import PROOF, TRIALS, VALUES, ShrinkSpending
from skillsv.rendering import Renderer
from skillsv.rollout import RunFolder, Runner, Stop
from skillsv.sandbox.workspace import write_tree
from skillsv.settings import Settings, compile_options

PURPOSE = "shrink"
"""Ending of the name of a run under which the ledger keeps the rollouts of a proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A version to prove: the files that are delivered, and the coalition that stands for them in requests."""

    coalition: Coalition
    after: Rendering
    tokens: int
    removed: tuple[str, ...]
    renderer: Renderer | None = None


def pruned_version(renderer: Renderer, removed: frozenset[str]) -> NewVersion:
    """The skill without these units."""
    compiled = renderer.compiled
    after = renderer.render(compiled.everything - removed, Operator.DELETE)
    return NewVersion(
        coalition=compiled.everything - removed,
        after=after,
        tokens=renderer.count_tokens(after),
        removed=tuple(unit for unit in compiled.execution if unit in removed),
    )


def revised_version(version: NewVersion, after: Rendering, compiled: CompiledSkill, settings: Settings) -> NewVersion:
    """The version that an editor made of a pruned one. It is compiled, so that null changes of it can be rendered."""
    with tempfile.TemporaryDirectory(prefix="skillsv-shrink-") as folder:
        write_tree(after, Path(folder))
        main = Path(folder) / after.main if compiled.skill.single_file else Path(folder)
        revised = compile_skill(main, compile_options(settings))
    named = replace(revised, skill=replace(revised.skill, name=compiled.skill.name))
    renderer = make_renderer(named, settings)
    coalition = REVISED | {after.digest}  # the texts of two sets are told apart
    return replace(version, coalition=coalition, after=after, tokens=renderer.total_tokens, renderer=renderer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofOutcomes:
    """The proofs of some versions in turn, and what the agent's runs took with the old and the last new version.

    `ended`: retries used up the limit of rollouts, so that the last proof has fewer pairs and nothing can follow.
    """

    results: tuple[ProofResult, ...] = ()
    cost: ShrinkCostDocument | None = None
    rollouts: int = 0
    ended: bool = False

    @property
    def passed(self) -> bool:
        """Whether the last version is shown to be no worse."""
        return bool(self.results) and self.results[-1].confirmation.outcome is ProofOutcome.NO_WORSE

    def __add__(self, later: ProofOutcomes) -> ProofOutcomes:
        return ProofOutcomes(
            results=self.results + later.results,
            cost=later.cost or self.cost,
            rollouts=self.rollouts + later.rollouts,
            ended=later.ended,
        )


NO_PROOF = ProofOutcomes()
"""Nothing was proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofSession:
    """Where trials and proofs run. The limits of `settings` hold for all sessions together: `spent` counts them."""

    prepared: PreparedRun
    folder: RunFolder
    held_out: tuple[Task, ...]
    settings: Settings
    spent: ShrinkSpending
    sizes: ProofSizes
    listener: Listener
    stop: Stop | None

    @asynccontextmanager
    async def open(self, part: str, versions: Sequence[NewVersion] = ()) -> AsyncIterator[Runner]:
        """A runner on the tasks for values and the held-out ones, for trials or proof."""
        prepared, settings = self.prepared, self.settings
        revised = {version.coalition: version.renderer for version in versions if version.renderer is not None}

        def render(coalition: Coalition, operator: Operator, null_change: int = 0) -> Rendering:
            other = revised.get(coalition)
            if other is not None:
                return other.render(other.compiled.everything, operator, null_change)
            return prepared.renderer.render(coalition, operator, null_change)

        session = Session(
            job=replace(prepared.job, settings=settings),
            agent=prepared.agent,
            verifier=prepared.verifier,
            tasks=(*prepared.panel_a.tasks, *self.held_out),
            render=render,
            folder=self.folder,
            options=runner_options(settings, f"{self.folder.run_id}-{PURPOSE}", self.spent.progress),
        )
        async with open_runner(session, self.listener, self.stop) as runner:
            self.keep_mended()
            with self.spent.counting(runner, part):
                yield runner

    def keep_mended(self, tasks: Iterable[str] = ()) -> None:
        """Store that these held-out tasks choose from now on; without any, that this shrink stores them at all."""
        digests = {task.id: task.digest for task in self.held_out}
        keep_mended(self.folder, [digests[task] for task in tasks])

    async def run_trials(
        self, trials: DeletionTrials, tasks: Sequence[str], rollouts: int, rng: np.random.Generator
    ) -> None:
        """Run trials on these tasks."""
        async with self.open(TRIALS) as runner:
            await runner.run_policies([trials.run(tasks, rollouts, rng)])

    async def ask_content(self, trigger: Coalition, full: Coalition, pairs: Sequence[Pair]) -> list[ContentPair]:
        """Score the trigger alone and the full skill on these pairs."""
        async with self.open(VALUES) as runner:
            (found,) = await runner.run_policies([ask_pairs(trigger, full, pairs)])
        return found

    async def prove(
        self,
        proof: PairedProof,
        versions: Sequence[NewVersion],
        claims: Sequence[Claim],
        *,
        rollouts: int,
        rng: np.random.Generator,
        look: Look = HALFWAY,
    ) -> ProofOutcomes:
        """Prove one version after the other, until one is shown to be no worse or the rollouts are used up."""
        tokens = self.prepared.renderer.total_tokens
        results: list[ProofResult] = []
        cost = None
        async with self.open(PROOF, versions) as runner:
            most = self.spent.rollouts.left
            for version, claim in zip(versions, claims, strict=False):
                room = max(min(rollouts - proof.used(), most - runner.attempts), 0)
                left = self.sizes.keep(version.after.digest, room)
                if not proof.affordable(version.coalition, left):
                    break
                result = await self._run_proof(runner, proof, version, left, claim, rng, look)
                results.append(_with_tokens(result, tokens, version.tokens))
                cost = _measure_cost(runner, proof, version.coalition)
                if result.confirmation.outcome is ProofOutcome.NO_WORSE:
                    break
        ended = any(self.sizes.holds(_end_of(version)) for version in versions)
        return ProofOutcomes(results=tuple(results), cost=cost, rollouts=proof.used(), ended=ended)

    async def _run_proof(  # noqa: PLR0917 - the parts of a proof, in the order of `PairedProof.run`
        self,
        runner: Runner,
        proof: PairedProof,
        version: NewVersion,
        rollouts: int,
        claim: Claim,
        rng: np.random.Generator,
        look: Look,
    ) -> ProofResult:
        """Prove one version. Where retries use up the limit after the look, the pairs that are complete decide.

        Which pairs these are does not depend on scores. The same command again asks for no further ones.
        """
        new = version.coalition
        pairs = proof.affordable(new, rollouts)
        if not self.sizes.holds(_end_of(version)):
            try:
                (result,) = await runner.run_policies([proof.run(new, rollouts, claim, rng, look)])
            except BudgetReached as error:
                if runner.attempts < self.spent.rollouts.left:  # another limit
                    raise
                _take_stored(runner, proof, new, pairs)
                if proof.complete(new, pairs) < math.ceil(look.share * pairs):
                    error.hint = "What was run is kept; the same command again goes on with this proof."
                    raise
            else:
                return result
            self.sizes.keep(_end_of(version), proof.complete(new, pairs))
        _take_stored(runner, proof, new, pairs)
        complete = count(proof.complete(new, pairs))
        self.listener(Note(message=f"Retries used up the rollouts: the proof has {complete} of {count(pairs)} pairs."))
        return ProofResult.of(proof.read(new, pairs), claim, rng)


def _end_of(version: NewVersion) -> str:
    """The name under which it is stored that the limit of rollouts ended the proof of a version."""
    return f"{version.after.digest} ended"


def _take_stored(runner: Runner, proof: PairedProof, new: Coalition, pairs: int) -> None:
    """Take over the scores of the first pairs that need no rollout."""
    wanted = proof.unasked(new, pairs)
    known = runner.known_answers(wanted.values())
    proof.scores.update((place, known[request]) for place, request in wanted.items() if request in known)


def as_panel_proof(result: ProofResult) -> Proof:
    """The result as the page of a run shows it. The bare agent and the trigger were not run on these tasks."""
    confirmation = result.confirmation
    return Proof(
        confirmation=confirmation,
        anchors=Anchors(empty=UNKNOWN, trigger=UNKNOWN, full=confirmation.old),
        at_worst=confirmation.at_worst or 0.0,
        level=result.claim.gate.level,
        replicates=1,
        left_out=0,
        changed_tasks=len(result.lost) + len(result.gained),
    )


def _with_tokens(result: ProofResult, before: int, after: int) -> ProofResult:
    return replace(result, confirmation=replace(result.confirmation, tokens_old=before, tokens_new=after))


def _measure_cost(runner: Runner, proof: PairedProof, new: Coalition) -> ShrinkCostDocument:
    """The mean cost of a rollout with either version, on the pairs that both were run on."""
    both = [pair for pair in proof.pairs if (proof.old, pair) in proof.scores and (new, pair) in proof.scores]
    old, changed = (
        runner.stored_rollouts(
            Request(coalition=version, operator=Operator.DELETE, task=task, why=REASON, null_change=change)
            for task, change in both
        )
        for version in (proof.old, new)
    )
    return {"before": _mean_cost(old), "after": _mean_cost(changed)}


def _mean_cost(rollouts: Sequence[Rollout]) -> RunCostDocument:
    return {
        "rollouts": len(rollouts),
        "input_tokens": _mean([rollout.usage.input_tokens for rollout in rollouts]),
        "output_tokens": _mean([rollout.usage.output_tokens for rollout in rollouts]),
        "usd": _mean([rollout.usage.usd for rollout in rollouts]),
        "seconds": _mean([rollout.duration for rollout in rollouts]),
    }


def _mean(amounts: Sequence[float | None]) -> float | None:
    """The mean; None where an amount is not known."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) / len(known) if known and len(known) == len(amounts) else None
