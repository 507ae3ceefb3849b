"""A shorter skill and its proof from one budget: first batch, plan, values, choice, proof. Runs rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
import numpy as np

from skillsv.confirmation.paired_proof import ProofResult
from skillsv.confirmation.power import proof_size
from skillsv.decide.deletion_sets import find_kept
from skillsv.errors import LowPower, NoDifference, NoisyAgent, SkillSVError
from skillsv.model.coalition import Operator
from skillsv.model.events import Note, RunFinished, RunStarted
from skillsv.model.format import count, plural, points, with_bounds
from skillsv.model.protocols import Listener
from skillsv.model.shrink_document import (
    ShrinkDocument,
    ShrinkProofDocument,
    ShrinkRolloutsDocument,
    ShrinkSetDocument,
    ShrinkStopDocument,
)
from skillsv.model.task import Task
from skillsv.model.value import Interval
from skillsv.pipeline.build_valuation import RolloutResult
from skillsv.pipeline.confirm import store_proof
from skillsv.pipeline.content_effect import ContentEffect, first_look, pairs_to_ask, second_look
from skillsv.pipeline.deletion_choice import ChosenSet
from skillsv.pipeline.job import (
    PreparedRun,
    ValuationJob,
    forecast_job,
    load_job_tasks,
    make_manifest,
    prepare,
)
from skillsv.pipeline.judge_opinions import ask_opinions
from skillsv.pipeline.panel_history import known_panels, seen_tasks, unseen_tasks
from skillsv.pipeline.publish import publish
from skillsv.pipeline.refine import refine_by
from skillsv.pipeline.run import Run, build_run, read_manifest
from skillsv.pipeline.shrink_advice import advice, plan_lines, would_help
from skillsv.pipeline.shrink_attempts import Attempts, attempt_by_posterior, attempt_by_trials, attempt_by_values
from skillsv.pipeline.shrink_checks import require_editor, require_judge, require_removable
from skillsv.pipeline.shrink_choice import Evidence
from skillsv.pipeline.shrink_explanations import would_take
from skillsv.pipeline.shrink_plan import (
    FirstBatch,
    ShrinkGoal,
    ShrinkPlan,
    first_batch_size,
    noisy_estimate,
    panel_size,
    plan_by_values,
    plan_proof,
    plan_shrink,
    read_first_batch,
)
from skillsv.pipeline.shrink_proof import NewVersion, ProofSession, as_panel_proof, pruned_version, revised_version
from skillsv.pipeline.shrink_spending import JUDGE, PROOF, TRIALS, VALUES, ShrinkSpending, SpentRollouts
from skillsv.pipeline.valuation import run_rollouts
from skillsv.report.valuation_json import interval_dict
from skillsv.rollout import RunFolder, Stop, run_id
from skillsv.settings import Settings
from skillsv.tasks import NO_PANELS, KnownPanels

SHRINK_FILE = "shrink.json"
"""The file in the run folder that holds the result."""

NO_EFFECT_SHOWN = (
    "The first batch does not show that the skill's content makes a difference to the agent. A proof may then show "
    "that all of it can go."
)
"""What a shrink notes that goes on nevertheless."""

LOW_ODDS = "That is less than even odds, so nothing more was spent and nothing was deleted."
"""What a shrink says where it ends after the first batch."""


END_OF_LOW_POWER = "less than even odds"
"""The reason that a progress line gives there: the note before it and the error after it say the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkOptions:
    """What a shrink may do besides its goal: units that must stay, a judge's opinion, an editor, doubtful proofs.

    `by_values`: units are valued, and sets chosen by these values, also where the agent repeats itself.
    `steady_only`: nothing more is spent when the agent turns out to be noisy.
    """

    keep: tuple[str, ...] = ()
    ask_judge: bool = False
    editor: str | None = None
    keep_going: bool = False
    by_values: bool = False
    steady_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedShrink:
    """Everything that is known before the first rollout. `plan` assumes the usual noise."""

    prepared: PreparedRun
    goal: ShrinkGoal
    options: ShrinkOptions
    plan: ShrinkPlan
    held_out: tuple[Task, ...]
    kept: frozenset[str]

    @property
    def proof_tasks(self) -> Sequence[Task]:
        """The tasks that a proof can use."""
        return self.prepared.panel_a.tasks if self.goal.same_tasks else self.held_out


def prepare_shrink(
    job: ValuationJob, folder: RunFolder, goal: ShrinkGoal, options: ShrinkOptions, *, fresh: bool = False
) -> PreparedShrink:
    """Compile the skill, divide the tasks, plan. Runs nothing and writes nothing.

    Deletion alone is measured: a shorter skill deletes.
    """
    prepared, resumed = _divide_tasks(job, folder, goal, fresh=fresh)
    seen = frozenset[str]() if fresh else seen_tasks(folder, resumed=resumed)
    held_out = unseen_tasks(prepared.panel_b.tasks, seen)
    tasks = len(prepared.panel_a.tasks)
    kept = find_kept(prepared.compiled, options.keep)
    require_removable(prepared.compiled, kept)
    if options.ask_judge:
        require_judge(job)
    if options.editor is not None:
        require_editor(options.editor, job)
    plan = plan_shrink(goal, tasks, tasks if goal.same_tasks else len(held_out))
    return PreparedShrink(
        prepared=prepared,
        goal=goal,
        options=options,
        plan=plan,
        held_out=held_out,
        kept=kept,
    )


def _divide_tasks(job: ValuationJob, folder: RunFolder, goal: ShrinkGoal, *, fresh: bool) -> tuple[PreparedRun, str]:
    """The run with its panels, and the name of the folder's run where it goes on, else nothing.

    A shrink that goes on has the panels that it began with, though it may have used some tasks since to mend its set.
    """
    tasks = load_job_tasks(job)

    def divide(known: KnownPanels) -> PreparedRun:
        return prepare(replace(job, settings=_panel_settings(job, goal, tasks, known)), known)

    if fresh:
        return divide(NO_PANELS), ""
    current = folder.run_id
    known, resumed = known_panels(folder), known_panels(folder, resumed=current)
    prepared = divide(resumed)
    goes_on = run_id(make_manifest(prepared)) == current
    return (prepared, current) if goes_on else (divide(known) if known != resumed else prepared, "")


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

    Raises NoDifference where the skill makes no difference to the agent, and LowPower where the measured noise leaves
    the proof less than even odds; both before most of the budget is spent.
    """
    work = ShrinkSteps(
        shrink, folder, listener, stop, ShrinkSpending(rollouts=SpentRollouts(limit=shrink.goal.rollouts))
    )
    listener(RunStarted(run=folder.path.name, chains=0, expected_rollouts=shrink.goal.rollouts))
    try:
        result = await work.run(fresh=fresh)
    except SkillSVError as error:
        listener(RunFinished(reason=END_OF_LOW_POWER if isinstance(error, LowPower) else error.what))
        if error.document is None:
            error.document = work.stopped(error)
        raise
    listener(RunFinished(reason="done"))
    return result


@dataclass(slots=True)
class ShrinkSteps:
    """The steps of one shrink, and what they have spent and noted so far.

    `asked_again` are rollouts of the second look at the content: the plan divides what is left.
    """

    shrink: PreparedShrink
    folder: RunFolder
    listener: Listener
    stop: Stop | None
    spent: ShrinkSpending
    notes: list[str] = field(default_factory=list)
    batch: FirstBatch | None = None
    measured: ShrinkPlan | None = None
    asked_again: int = 0

    async def run(self, *, fresh: bool) -> ShrinkResult:
        """All steps in turn."""
        shrink = self.shrink
        first = await self.estimate(first_batch_size(len(shrink.prepared.panel_a.tasks)), fresh=fresh)
        batch = self.read_batch(first)
        await self.require_difference(batch)
        self.require_steady(batch)
        self.measured = plan = self.plan(batch)
        self.note(*plan_lines(plan))
        self.require_power(plan, batch, spent=len(first.observations))
        judged = await self.ask_judge()
        result, late, plan = await self.value_units(batch, plan, asked=len(judged or ()))
        settings = self.value_settings(plan.estimate)
        run = build_run(shrink.prepared.renderer, settings, read_manifest(self.folder), result)
        plan = without_retries(plan, self.spent.rollouts.retries, late)
        attempts = await self.attempt(run, plan, judged, noisy=late.noisy)
        document = self.document(run, plan, attempts, noisy=late.noisy)
        if judged is not None:
            document["rollouts"]["judge"] = len(judged)
        self.folder.write(SHRINK_FILE, msgspec.json.format(msgspec.json.encode(document), indent=2))
        if not shrink.goal.same_tasks:  # the page calls the tasks of a proof held out
            for tried, proof in zip(attempts.versions, attempts.outcomes.results, strict=False):
                store_proof(self.folder, tried.after.digest, as_panel_proof(proof))
        publish(self.folder, run)
        return ShrinkResult(document=document, run=run, version=attempts.proved, results=attempts.outcomes.results)

    async def value_units(
        self, batch: FirstBatch, plan: ShrinkPlan, *, asked: int
    ) -> tuple[RolloutResult, FirstBatch, ShrinkPlan]:
        """Run the rollouts for values; a judge has taken `asked` of them. Gives the plan of the proof, too.

        A steady agent's values may take more of the budget than a noisy one's, whose proof needs more. So there is a
        look at what the latter may take, for noise that the first batch did not show.
        """
        parts = sorted({min(noisy_estimate(plan.goal), plan.estimate), plan.estimate})
        for rollouts in parts:
            result = await self.estimate(rollouts - asked)
            late = self.read_batch(result)
            if late.noisy and not batch.noisy:
                self.require_steady(late)
                plan = self.plan(late)
                spent = len(result.observations) + asked
                if spent < plan.estimate:
                    result = await self.estimate(plan.estimate - asked)
                else:  # what is spent cannot be given to the proof
                    plan = plan_proof(replace(plan, estimate=spent), late, len(self.shrink.proof_tasks))
                break
        return result, late, plan

    def plan(self, batch: FirstBatch) -> ShrinkPlan:
        """How the budget is divided, by the noise that a batch showed."""
        divide = plan_by_values if self.shrink.options.by_values else plan_shrink
        goal = replace(self.shrink.goal, rollouts=self.shrink.goal.rollouts - self.asked_again)
        return divide(goal, len(self.shrink.prepared.panel_a.tasks), len(self.shrink.proof_tasks), batch)

    def note(self, *sentences: str) -> None:
        """Show sentences now, and keep them for the result."""
        for sentence in sentences:
            self.notes.append(sentence)
            self.listener(Note(message=sentence))

    def settings(self) -> Settings:
        """The settings with the limits of the user, which hold for all sessions together."""
        return replace(self.shrink.prepared.job.settings, max_rollouts=self.spent.rollouts.limit)

    def value_settings(self, rollouts: int) -> Settings:
        """The settings of values from so many rollouts."""
        return replace(self.shrink.prepared.job.settings, max_rollouts=max(rollouts, 1))

    async def estimate(self, rollouts: int, *, fresh: bool = False) -> RolloutResult:
        """Run the valuation until its record holds so many rollouts. Raises what ended it early.

        The number of rollouts is a part of the plan; what ends the session is the limit of the user.
        """
        prepared, settings = self.shrink.prepared, self.settings()
        tasks = len(prepared.panel_a.tasks)
        prepared = replace(
            prepared,
            job=replace(prepared.job, settings=settings),
            forecast=forecast_job(prepared.compiled, self.value_settings(rollouts), tasks),
        )
        result = await run_rollouts(
            prepared, self.folder, self.listener, self.stop, fresh=fresh, whole=False, earlier=self.spent.progress
        )
        self.spent.add(VALUES, result.attempts, result.spending, result.usage)
        if result.error is not None:
            raise result.error
        return result

    def read_batch(self, result: RolloutResult) -> FirstBatch:
        """What the first batch shows, in the light of all observations."""
        self.batch = read_first_batch(self.shrink.prepared.compiled, result.observations)
        return self.batch

    def stopped(self, error: SkillSVError) -> ShrinkDocument:
        """The result where an error ended the shrink: nothing was proposed."""
        return stopped_document(
            self.shrink,
            power=(self.measured or self.shrink.plan).power,
            noisy=self.batch is not None and self.batch.noisy,
            rollouts=self.rollouts(),
            notes=self.notes,
            stopped=stop_of(error),
        )

    def rollouts(self) -> ShrinkRolloutsDocument:
        """What was spent so far."""
        paid, recorded = self.spent.paid, len(self.folder.read_records().observations)
        spent: ShrinkRolloutsDocument = {
            "budget": self.shrink.goal.rollouts,
            "values": max(paid[VALUES], recorded + self.asked_again),
            "trials": paid[TRIALS],
            "proof": paid[PROOF],
        }
        if paid[JUDGE]:
            spent["judge"] = paid[JUDGE]
        return spent

    async def require_difference(self, batch: FirstBatch) -> None:
        """Raise NoDifference where the skill's content is not shown to make a difference to the agent."""
        effect = first_look(batch)
        if self.shrink.options.keep_going:
            if effect is not ContentEffect.SHOWN:
                self.note(NO_EFFECT_SHOWN)
            return
        if effect is ContentEffect.UNCLEAR:
            effect = await self.look_again(batch)
        if effect is not ContentEffect.SHOWN:
            raise self.no_difference(batch)

    async def look_again(self, batch: FirstBatch) -> ContentEffect:
        """Ask {m} and the full skill again where the first batch does not tell them from noise."""
        compiled = self.shrink.prepared.compiled
        pairs = pairs_to_ask(batch, self.shrink.goal.rollouts)
        self.asked_again = 2 * len(pairs)
        self.note(
            "The first batch does not tell the effect of the skill's content from noise. The full skill and its "
            f"trigger alone are asked {count(self.asked_again)} times more."
        )
        found = await self.proof_session().ask_content(frozenset({compiled.trigger}), compiled.everything, pairs)
        return second_look(batch, found)

    def no_difference(self, batch: FirstBatch) -> NoDifference:
        """The error that ends a shrink whose skill makes no difference to the agent."""
        levels = set(batch.full)
        advice = "Check that the agent reads the skill, or choose other tasks."
        if levels == {0.0}:
            advice = "Check that the agent reads the skill and that the verifier accepts a right answer."
        again = f" Asked {count(self.asked_again)} times more, it was no clearer." if self.asked_again else ""
        varied = f" A change that means nothing altered {plural(batch.varied, 'score')}." if batch.varied else ""
        return NoDifference(
            f"The content of the skill made no difference that can be told from noise on "
            f"{plural(len(batch.full), 'task')}: with all of it the agent scores "
            f"{points(float(np.mean(batch.full)), signed=False)}, with its trigger alone "
            f"{points(float(np.mean(batch.trigger)), signed=False)}.{varied}{again} Nothing was deleted.",
            hint=f"{advice} --keep-going shrinks the skill nevertheless.",
            examples=(),
        )

    def require_steady(self, batch: FirstBatch) -> None:
        """Raise NoisyAgent where a score varied that should not, and the caller wants no more spent then."""
        if self.shrink.options.steady_only and (batch.noisy or batch.varied):
            seen = f"a change that means nothing altered the scores of {batch.varied} of {len(batch.full)} tasks"
            shown = seen if batch.varied else "later rollouts of the same coalition had other scores"
            raise NoisyAgent(f"The agent is noisy: {shown}. Nothing more was spent and nothing was deleted.")

    def require_power(self, plan: ShrinkPlan, batch: FirstBatch, *, spent: int) -> None:
        """Raise LowPower where the proof would fail more often than not, unless the user goes on."""
        if plan.worthwhile or self.shrink.options.keep_going:
            return
        reason = f"{plan_lines(plan)[0]} {LOW_ODDS}"
        document = stopped_document(
            self.shrink,
            power=plan.power,
            noisy=batch.noisy,
            rollouts={
                "budget": self.shrink.goal.rollouts,
                "values": spent + self.asked_again,
                "trials": 0,
                "proof": 0,
            },
            notes=self.notes,
            stopped={"reason": reason, "would_help": would_help(plan)},
        )
        raise LowPower(reason, hint=advice(plan), document=document)

    async def ask_judge(self) -> Mapping[str, float] | None:
        """A judge's opinion on each unit, where it is wanted: a call per unit, of the budget for values."""
        if not self.shrink.options.ask_judge:
            return None
        return await ask_opinions(
            self.shrink.prepared, self.folder, self.settings(), self.listener, self.stop, spent=self.spent
        )

    def evidence(self, run: Run, judged: Mapping[str, float] | None) -> Evidence:
        """What a set is chosen from."""
        return Evidence(
            compiled=run.compiled,
            observations=run.observations,
            tokens={unit: run.renderer.tokens_of(unit) for unit in run.compiled.execution},
            kept=self.shrink.kept,
            judged=judged,
        )

    def proof_session(self) -> ProofSession:
        """Where trials and proofs run, within the limits of this shrink."""
        return ProofSession(
            prepared=self.shrink.prepared,
            folder=self.folder,
            held_out=self.shrink.held_out,
            settings=self.settings(),
            spent=self.spent,
            listener=self.listener,
            stop=self.stop,
        )

    async def attempt(self, run: Run, plan: ShrinkPlan, judged: Mapping[str, float] | None, *, noisy: bool) -> Attempts:
        """Choose sets and prove them with the rest of the budget."""
        what = self.proof_session(), self.evidence(run, judged), plan, partial(self.make_version, run)
        if noisy:
            return await attempt_by_posterior(*what)
        if self.shrink.options.by_values:
            return await attempt_by_values(*what, units=run.valuation.units)
        return await attempt_by_trials(*what)

    async def make_version(self, run: Run, chosen: ChosenSet, *, spare: bool = False) -> NewVersion:
        """The files without the set; an editor may rewrite them. A `spare` one is proved only if others fail."""
        version, editor = pruned_version(run.renderer, chosen.removed), self.shrink.options.editor
        drop = Interval(-chosen.drop.value, -chosen.drop.high, -chosen.drop.low)
        basis = f" ({chosen.basis})" if chosen.basis else ""
        first = "If that is not shown and rollouts are left: deleting" if spare else "Deleting"
        self.note(
            f"{first} {len(chosen.removed)} of {len(run.compiled.execution)} units leaves {count(version.tokens)} of "
            f"{count(run.renderer.total_tokens)} tokens; predicted change {with_bounds(drop)} points{basis}."
        )
        if editor is None:
            return version
        job = self.shrink.prepared.job
        revision = await refine_by(editor, run, self.folder, run.settings, job.folder, before=version.after)
        return revised_version(version, revision.after, run.compiled, run.settings)

    def document(self, run: Run, plan: ShrinkPlan, attempts: Attempts, *, noisy: bool) -> ShrinkDocument:
        """The result as `skillsv.shrink/1`."""
        chosen, outcomes, passed = attempts.chosen, attempts.outcomes, attempts.proved
        results: list[ProofResult | None] = [*outcomes.results, *[None] * (len(chosen) - len(outcomes.results))]
        outcome = outcomes.results[-1].confirmation.outcome.value if outcomes.results else "nothing to remove"
        total = run.renderer.total_tokens
        document: ShrinkDocument = {
            "schema": "skillsv.shrink/1",
            "skill": run.compiled.skill.name,
            "outcome": outcome,  # type: ignore[typeddict-item]
            "claim": "these tasks" if plan.goal.same_tasks else "tasks like these",
            "max_drop": plan.goal.gate.max_drop,
            "units": len(run.compiled.execution),
            "removed": [] if passed is None else list(passed.removed),
            "refined": passed is not None and passed.renderer is not None,
            "tokens_before": total,
            "tokens_after": total if passed is None else passed.tokens,
            "noisy": noisy,
            "power": plan.power,
            "sets": [set_dict(*row) for row in zip(chosen, attempts.versions, results, strict=True)],
            "cost": outcomes.cost,
            "rollouts": {
                "budget": self.shrink.goal.rollouts,
                "values": len(run.observations) + self.asked_again,
                "trials": attempts.trials,
                "proof": outcomes.rollouts,
            },
            "notes": list(self.notes),
        }
        if attempts.stopped is not None:
            document["stopped"] = attempts.stopped
        if passed is None and outcomes.results:
            document["would_take"] = would_take(outcomes.results[-1])
        return document


def without_retries(plan: ShrinkPlan, retries: int, batch: FirstBatch) -> ShrinkPlan:
    """The plan of what follows the values when so many attempts went into retries: they take from trials and proof."""
    goal = replace(plan.goal, rollouts=plan.goal.rollouts - retries)
    if batch.noisy:
        rest = max(goal.rollouts - plan.estimate, 0)
        return replace(plan, goal=goal, size=proof_size(min(rest, plan.size.rollouts), plan.size.tasks))
    return replace(plan, goal=goal, trials=max(plan.trials - retries, 0))


def stop_of(error: SkillSVError) -> ShrinkStopDocument:
    """Why a shrink ended early, and what would help, by the error that ended it."""
    where = f"{error.where}: " if error.where else ""
    return {"reason": f"{where}{error.what}", "would_help": [error.hint] if error.hint else []}


def stopped_document(
    shrink: PreparedShrink,
    *,
    power: float,
    noisy: bool,
    rollouts: ShrinkRolloutsDocument,
    notes: Sequence[str],
    stopped: ShrinkStopDocument,
) -> ShrinkDocument:
    """The result of a shrink that ended after the first batch, as `skillsv.shrink/1`."""
    total = shrink.prepared.renderer.total_tokens
    return {
        "schema": "skillsv.shrink/1",
        "skill": shrink.prepared.compiled.skill.name,
        "outcome": "not shown",
        "claim": "these tasks" if shrink.goal.same_tasks else "tasks like these",
        "max_drop": shrink.goal.gate.max_drop,
        "removed": [],
        "refined": False,
        "tokens_before": total,
        "tokens_after": total,
        "noisy": noisy,
        "power": power,
        "sets": [],
        "cost": None,
        "rollouts": rollouts,
        "notes": list(notes),
        "stopped": stopped,
    }


def set_dict(chosen: ChosenSet, version: NewVersion, result: ProofResult | None) -> ShrinkSetDocument:
    """A proposed set with its proof, as the result lists it."""
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
