"""A shorter skill and its proof from one budget: first batch, plan, values, choice, proof. Runs rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio
import msgspec
import numpy as np

from skillsv.confirmation.paired_proof import ProofResult
from skillsv.decide.deletion_sets import find_kept
from skillsv.errors import BudgetReached, GateNotMet, NoDifference, SkillSVError
from skillsv.model.coalition import Operator
from skillsv.model.edit import ProofOutcome
from skillsv.model.events import Note, RunFinished, RunStarted
from skillsv.model.format import count, points, with_bounds
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Usage
from skillsv.model.shrink_document import ShrinkDocument, ShrinkProofDocument, ShrinkSetDocument
from skillsv.model.task import Task
from skillsv.model.value import Interval
from skillsv.pipeline.build_valuation import RolloutResult
from skillsv.pipeline.confirm import store_proof
from skillsv.pipeline.deletion_choice import ChosenSet
from skillsv.pipeline.job import PreparedRun, ValuationJob, forecast_job, load_job_tasks, prepare
from skillsv.pipeline.judge_opinions import ask_opinions
from skillsv.pipeline.panel_history import known_panels, unseen_tasks
from skillsv.pipeline.publish import publish
from skillsv.pipeline.refine import refine_by
from skillsv.pipeline.run import Run, build_run, read_manifest
from skillsv.pipeline.shrink_choice import Evidence, choose_by_posterior, choose_by_values, proof_pairs
from skillsv.pipeline.shrink_plan import (
    FirstBatch,
    ShrinkGoal,
    ShrinkPlan,
    first_batch_size,
    panel_size,
    plan_proof,
    plan_shrink,
    read_first_batch,
)
from skillsv.pipeline.shrink_proof import (
    NewVersion,
    ProofOutcomes,
    as_panel_proof,
    prove_versions,
    pruned_version,
    revised_version,
)
from skillsv.pipeline.valuation import run_rollouts
from skillsv.report.valuation_json import interval_dict
from skillsv.rollout import RunFolder, Stop
from skillsv.settings import Settings
from skillsv.tasks import NO_PANELS, KnownPanels

SHRINK_FILE = "shrink.json"
"""The file in the run folder that holds the result."""

CHOICE_STREAM = 17
"""Random stream of the choice and of the bounds of the proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkOptions:
    """What a shrink may do besides its goal: units that must stay, a judge's opinion, an editor, doubtful proofs."""

    keep: tuple[str, ...] = ()
    ask_judge: bool = False
    editor: str | None = None
    keep_going: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedShrink:
    """Everything that is known before the first rollout. `plan` assumes the usual noise."""

    prepared: PreparedRun
    goal: ShrinkGoal
    options: ShrinkOptions
    plan: ShrinkPlan
    held_out: tuple[Task, ...]
    kept: frozenset[str]


def prepare_shrink(
    job: ValuationJob, folder: RunFolder, goal: ShrinkGoal, options: ShrinkOptions, *, fresh: bool = False
) -> PreparedShrink:
    """Compile the skill, divide the tasks, plan. Runs nothing and writes nothing.

    Deletion alone is measured: a shorter skill deletes.
    """
    known = NO_PANELS if fresh else known_panels(folder)
    settings = _panel_settings(job, goal, load_job_tasks(job), known)
    prepared = prepare(replace(job, settings=settings), known)
    held_out = prepared.panel_b.tasks if fresh else unseen_tasks(prepared.panel_b.tasks, folder)
    tasks = len(prepared.panel_a.tasks)
    plan = plan_shrink(goal, tasks, tasks if goal.same_tasks else len(held_out))
    return PreparedShrink(
        prepared=prepared,
        goal=goal,
        options=options,
        plan=plan,
        held_out=held_out,
        kept=find_kept(prepared.compiled, options.keep),
    )


def _panel_settings(job: ValuationJob, goal: ShrinkGoal, tasks: Sequence[Task], known: KnownPanels) -> Settings:
    """The settings of the values: the panels that the goal asks for, unless the user named their sizes."""
    settings = replace(job.settings, method="auto", operators=(Operator.DELETE,), max_rollouts=goal.rollouts)
    if goal.same_tasks:
        return replace(settings, panel_a=None, panel_b=0)
    if settings.panel_a is None and settings.panel_b is None:
        size, unseen = panel_size(len(tasks), goal), sum(not known.seen(task) for task in tasks)
        return replace(settings, panel_a=size, panel_b=min(len(tasks) - size, unseen))
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkResult:
    """The outcome. `version` is what was shown to be no worse, None where nothing was."""

    document: ShrinkDocument
    run: Run
    version: NewVersion | None
    results: tuple[ProofResult, ...]


async def run_shrink(
    shrink: PreparedShrink, folder: RunFolder, listener: Listener, stop: Stop | None, *, fresh: bool = False
) -> ShrinkResult:
    """Spend the budget and return what it shows. The same command again resumes and pays for nothing twice.

    Raises NoDifference where the skill makes no difference to the agent, and GateNotMet where the measured noise leaves
    the proof less than even odds; both before most of the budget is spent.
    """
    work = _Shrink(shrink, folder, listener, stop)
    listener(RunStarted(run=folder.path.name, chains=0, expected_rollouts=shrink.goal.rollouts))
    try:
        result = await work.run(fresh=fresh)
    except SkillSVError as error:
        listener(RunFinished(reason=error.what))
        raise
    listener(RunFinished(reason="done"))
    return result


@dataclass(slots=True)
class _Shrink:
    """The steps of one shrink, and what they have spent and noted so far."""

    shrink: PreparedShrink
    folder: RunFolder
    listener: Listener
    stop: Stop | None
    started: float = field(default_factory=anyio.current_time)
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)

    async def run(self, *, fresh: bool) -> ShrinkResult:
        """All steps in turn."""
        shrink = self.shrink
        first = await self.estimate(first_batch_size(len(shrink.prepared.panel_a.tasks)), fresh=fresh)
        batch = self.read_batch(first)
        self.require_difference(batch)
        plan = plan_shrink(shrink.goal, len(shrink.prepared.panel_a.tasks), self.proof_tasks, batch)
        self.note(*plan.lines())
        self.require_power(plan)
        judged = await self.ask_judge(plan)
        result = await self.estimate(plan.estimate - len(judged or ()))
        late = self.read_batch(result)
        if late.noisy and not batch.noisy:
            plan = plan_proof(plan, late, self.proof_tasks)
        run = build_run(shrink.prepared.renderer, self.settings(plan.estimate), read_manifest(self.folder), result)
        evidence, chosen = self.choose(run, plan, judged, noisy=late.noisy)
        versions = [await self.make_version(run, one) for one in chosen]
        outcomes = await self.prove(plan, evidence, versions)
        document = self.document(run, plan, chosen, versions, outcomes, noisy=late.noisy)
        self.folder.write(SHRINK_FILE, msgspec.json.format(msgspec.json.encode(document), indent=2))
        if not shrink.goal.same_tasks:  # the page calls the tasks of a proof held out
            for tried, proof in zip(versions, outcomes.results, strict=False):
                store_proof(self.folder, tried.after.digest, as_panel_proof(proof))
        publish(self.folder, run)
        passed = document["outcome"] == ProofOutcome.NO_WORSE.value
        proved = versions[len(outcomes.results) - 1] if passed else None
        return ShrinkResult(document=document, run=run, version=proved, results=outcomes.results)

    @property
    def proof_tasks(self) -> int:
        """The number of tasks that a proof can use."""
        shrink = self.shrink
        return len(shrink.prepared.panel_a.tasks if shrink.goal.same_tasks else shrink.held_out)

    def note(self, *sentences: str) -> None:
        """Show sentences now, and keep them for the result."""
        for sentence in sentences:
            self.notes.append(sentence)
            self.listener(Note(message=sentence))

    def settings(self, rollouts: int) -> Settings:
        """The settings with so many rollouts, and with what is left of the other limits."""
        settings = self.shrink.prepared.job.settings
        tokens = (self.usage.input_tokens or 0) + (self.usage.output_tokens or 0)
        usd, seconds = self.usage.usd or 0.0, anyio.current_time() - self.started
        return replace(
            settings,
            max_rollouts=max(rollouts, 1),
            max_tokens=None if settings.max_tokens is None else max(settings.max_tokens - tokens, 1),
            budget_usd=None if settings.budget_usd is None else max(settings.budget_usd - usd, 1e-9),
            max_seconds=None if settings.max_seconds is None else max(settings.max_seconds - seconds, 1e-3),
        )

    async def estimate(self, rollouts: int, *, fresh: bool = False) -> RolloutResult:
        """Run the valuation until its record holds so many rollouts. Raises what ended it early."""
        prepared, settings = self.shrink.prepared, self.settings(rollouts)
        tasks = len(prepared.panel_a.tasks)
        prepared = replace(
            prepared,
            job=replace(prepared.job, settings=settings),
            forecast=forecast_job(prepared.compiled, settings, tasks),
        )
        result = await run_rollouts(prepared, self.folder, self.listener, self.stop, fresh=fresh, whole=False)
        self.usage += result.usage
        # Attempts that failed count, too, so the limit may come before the record is complete: that is enough here.
        if result.error is not None and not (isinstance(result.error, BudgetReached) and result.observations):
            raise result.error
        return result

    def read_batch(self, result: RolloutResult) -> FirstBatch:
        """What the first batch shows, in the light of all observations."""
        return read_first_batch(self.shrink.prepared.compiled, result.observations)

    def require_difference(self, batch: FirstBatch) -> None:
        """Raise NoDifference where the skill's content makes no difference to the agent."""
        if self.shrink.options.keep_going or not batch.silent:
            return
        levels = set(batch.full)
        advice = "Check that the agent reads the skill, or choose other tasks."
        if levels == {0.0}:
            advice = "Check that the agent reads the skill and that the verifier accepts a right answer."
        raise NoDifference(
            f"The content of the skill made no difference on {len(batch.full)} tasks: with all of it the agent scores "
            f"{points(float(np.mean(batch.full)), signed=False)}, with its trigger alone "
            f"{points(float(np.mean(batch.trigger)), signed=False)}. Nothing was deleted.",
            hint=f"{advice} --keep-going shrinks the skill nevertheless.",
            examples=(),
        )

    def require_power(self, plan: ShrinkPlan) -> None:
        """Raise GateNotMet where the proof would fail more often than not, unless the user goes on."""
        if plan.worthwhile:
            return
        if not self.shrink.options.keep_going:
            raise GateNotMet(
                f"{plan.lines()[0]} That is less than even odds, so nothing more was spent and nothing was deleted.",
                hint=plan.advice(),
            )

    async def ask_judge(self, plan: ShrinkPlan) -> Mapping[str, float] | None:
        """A judge's opinion on each unit, where it is wanted: a call per unit, of the budget for values."""
        if not self.shrink.options.ask_judge:
            return None
        settings = self.settings(plan.estimate)
        return await ask_opinions(self.shrink.prepared, self.folder, settings, self.listener, self.stop)

    def choose(
        self, run: Run, plan: ShrinkPlan, judged: Mapping[str, float] | None, *, noisy: bool
    ) -> tuple[Evidence, tuple[ChosenSet, ...]]:
        """The sets to prove, and what they were chosen from."""
        renderer = run.renderer
        evidence = Evidence(
            compiled=run.compiled,
            observations=run.observations,
            tokens={unit: renderer.tokens_of(unit) for unit in run.compiled.execution},
            kept=self.shrink.kept,
            judged=judged,
        )
        rng = np.random.default_rng([run.settings.seed, CHOICE_STREAM])
        if noisy:
            return evidence, choose_by_posterior(evidence, plan, rng)
        return evidence, choose_by_values(evidence, run.valuation.units, plan, rng)

    async def make_version(self, run: Run, chosen: ChosenSet) -> NewVersion:
        """The files without the set; an editor may rewrite them."""
        version, editor = pruned_version(run.renderer, chosen.removed), self.shrink.options.editor
        drop = Interval(-chosen.drop.value, -chosen.drop.high, -chosen.drop.low)
        self.note(
            f"Deleting {len(chosen.removed)} of {len(run.compiled.execution)} units leaves {count(version.tokens)} of "
            f"{count(run.renderer.total_tokens)} tokens; predicted change {with_bounds(drop)} points."
        )
        if editor is None:
            return version
        job = self.shrink.prepared.job
        revision = await refine_by(editor, run, self.folder, run.settings, job.folder, before=version.after)
        return revised_version(version, revision.after, run.compiled, run.settings)

    async def prove(self, plan: ShrinkPlan, evidence: Evidence, versions: Sequence[NewVersion]) -> ProofOutcomes:
        """Prove the versions in turn with the rest of the budget."""
        shrink = self.shrink
        tasks = shrink.prepared.panel_a.tasks if shrink.goal.same_tasks else shrink.held_out
        if not versions:
            return ProofOutcomes(results=(), cost=None, rollouts=0)
        return await prove_versions(
            shrink.prepared,
            self.folder,
            versions,
            shrink.goal.claims(len(versions)),
            proof_pairs(evidence, plan, [task.id for task in tasks]),
            tasks=tasks,
            rollouts=plan.size.rollouts,
            settings=self.settings(plan.size.rollouts),
            rng=np.random.default_rng([shrink.prepared.job.settings.seed, CHOICE_STREAM, 1]),
            listener=self.listener,
            stop=self.stop,
        )

    def document(
        self,
        run: Run,
        plan: ShrinkPlan,
        chosen: Sequence[ChosenSet],
        versions: Sequence[NewVersion],
        outcomes: ProofOutcomes,
        *,
        noisy: bool,
    ) -> ShrinkDocument:
        """The result as `skillsv.shrink/1`."""
        results: list[ProofResult | None] = [*outcomes.results, *[None] * (len(chosen) - len(outcomes.results))]
        outcome = outcomes.results[-1].confirmation.outcome.value if outcomes.results else "nothing to remove"
        passed = versions[len(outcomes.results) - 1] if outcome == ProofOutcome.NO_WORSE.value else None
        total = run.renderer.total_tokens
        return {
            "schema": "skillsv.shrink/1",
            "skill": run.compiled.skill.name,
            "outcome": outcome,  # type: ignore[typeddict-item]
            "claim": "these tasks" if plan.goal.same_tasks else "tasks like these",
            "max_drop": plan.goal.gate.max_drop,
            "removed": [] if passed is None else list(passed.removed),
            "refined": passed is not None and passed.renderer is not None,
            "tokens_before": total,
            "tokens_after": total if passed is None else passed.tokens,
            "noisy": noisy,
            "power": plan.power,
            "sets": [_set_dict(*row) for row in zip(chosen, versions, results, strict=True)],
            "cost": outcomes.cost,
            "rollouts": {"budget": plan.goal.rollouts, "values": len(run.observations), "proof": outcomes.rollouts},
            "notes": list(self.notes),
        }


def _set_dict(chosen: ChosenSet, version: NewVersion, result: ProofResult | None) -> ShrinkSetDocument:
    drop = chosen.drop
    return {
        "removed": list(version.removed),
        "tokens_after": version.tokens,
        "power": chosen.power,
        "predicted": interval_dict(Interval(-drop.value, -drop.high, -drop.low)),
        "outcome": None if result is None else result.confirmation.outcome.value,
        "proof": None if result is None else _proof_dict(result),
    }


def _proof_dict(result: ProofResult) -> ShrinkProofDocument:
    confirmation = result.confirmation
    return {
        "tasks": confirmation.tasks,
        "pairs": result.pairs,
        "old": interval_dict(confirmation.old),
        "new": interval_dict(confirmation.new),
        "delta": interval_dict(confirmation.delta),
        "at_worst": confirmation.at_worst or 0.0,
        "level": result.claim.gate.level,
        "lost": list(result.lost),
        "gained": list(result.gained),
    }
