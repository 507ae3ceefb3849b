"""A shorter skill and its proof from one budget: first batch, plan, values, choice, proof. Runs rollouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
import numpy as np

from skillsv.confirmation.paired_proof import ProofResult
from skillsv.confirmation.power import proof_size
from skillsv.errors import LowPower, NoDifference, NoisyAgent, SkillSVError
from skillsv.model.events import Note, RunFinished, RunStarted
from skillsv.model.format import count, plural, points, with_bounds
from skillsv.model.protocols import Listener
from skillsv.model.shrink_document import (
    ShrinkDocument,
    ShrinkRolloutsDocument,
)
from skillsv.model.value import Interval
from skillsv.pipeline.build_valuation import RolloutResult
from skillsv.pipeline.confirm import store_proof
from skillsv.pipeline.content_effect import ContentEffect, first_look, pairs_to_ask, second_look
from skillsv.pipeline.deletion_choice import ChosenSet
from skillsv.pipeline.job import (
    forecast_job,
)
from skillsv.pipeline.judge_opinions import ask_opinions
from skillsv.pipeline.proof_sizes import CONTENT_PAIRS, RETRIES, ProofSizes, identify_shrink
from skillsv.pipeline.publish import publish
from skillsv.pipeline.refine import refine_by
from skillsv.pipeline.run import Run, build_run, read_manifest
from skillsv.pipeline.shrink_advice import advice, plan_lines, would_help
from skillsv.pipeline.shrink_attempts import Attempts, attempt_by_posterior, attempt_by_trials, attempt_by_values
from skillsv.pipeline.shrink_choice import Evidence
from skillsv.pipeline.shrink_documents import SHRINK_FILE, result_document, stop_of, stopped_document
from skillsv.pipeline.shrink_plan import (
    FirstBatch,
    ShrinkPlan,
    first_batch_size,
    noisy_estimate,
    plan_by_values,
    plan_proof,
    plan_shrink,
    read_first_batch,
    with_judge,
)
from skillsv.pipeline.shrink_preparation import PreparedShrink
from skillsv.pipeline.shrink_proof import NewVersion, ProofSession, as_panel_proof, pruned_version, revised_version
from skillsv.pipeline.shrink_spending import JUDGE, PROOF, TRIALS, VALUES, ShrinkSpending, SpentRollouts
from skillsv.pipeline.valuation import run_rollouts
from skillsv.rollout import RunFolder, Stop
from skillsv.settings import Settings

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
    spent = ShrinkSpending(rollouts=SpentRollouts(limit=shrink.goal.rollouts))
    sizes = ProofSizes(folder=folder, identity=identify_shrink([shrink]))
    work = ShrinkSteps(shrink, folder, listener, stop, spent, sizes)
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
    sizes: ProofSizes
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
        plan = without_retries(plan, self.sizes.keep(RETRIES, self.spent.rollouts.retries), late)
        attempts = await self.attempt(run, plan, judged, noisy=late.noisy)
        rollouts: ShrinkRolloutsDocument = {
            "budget": shrink.goal.rollouts,
            "values": len(run.observations) + self.asked_again,
            "trials": attempts.trials,
            "proof": attempts.outcomes.rollouts,
        }
        if judged is not None:
            rollouts["judge"] = len(judged)
        document = result_document(run, plan, attempts, noisy=late.noisy, rollouts=rollouts, notes=self.notes)
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
        first = first_batch_size(len(self.shrink.prepared.panel_a.tasks))
        parts = {
            max(rollouts - asked, first) for rollouts in (min(noisy_estimate(plan.goal), plan.estimate), plan.estimate)
        }
        for rollouts in sorted(parts):
            result = await self.estimate(rollouts)
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
        plan = divide(goal, len(self.shrink.prepared.panel_a.tasks), len(self.shrink.proof_tasks), batch)
        asked = len(self.shrink.prepared.compiled.execution) if self.shrink.options.ask_judge else 0
        return with_judge(plan, asked)

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
        """What was spent so far, with what earlier commands paid for."""
        asked, recorded = self.spent.asked, len(self.folder.read_records().observations)
        spent: ShrinkRolloutsDocument = {
            "budget": self.shrink.goal.rollouts,
            "values": max(self.spent.paid[VALUES], recorded + self.asked_again),
            "trials": asked[TRIALS],
            "proof": asked[PROOF],
        }
        if asked[JUDGE]:
            spent["judge"] = asked[JUDGE]
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
        compiled, rollouts = self.shrink.prepared.compiled, self.shrink.goal.rollouts
        rest = rollouts - first_batch_size(len(self.shrink.prepared.panel_a.tasks))
        pairs = pairs_to_ask(batch, rollouts, max(min(rest, self.spent.rollouts.left), 0))
        pairs = pairs[: self.sizes.keep(CONTENT_PAIRS, len(pairs))]
        if not pairs:
            return second_look(batch, ())
        self.note(
            "The first batch does not tell the effect of the skill's content from noise. The full skill and its "
            f"trigger alone are asked {count(2 * len(pairs))} times more."
        )
        found = await self.proof_session().ask_content(frozenset({compiled.trigger}), compiled.everything, pairs)
        self.asked_again = 2 * len(found)
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
            sizes=self.sizes,
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


def without_retries(plan: ShrinkPlan, retries: int, batch: FirstBatch) -> ShrinkPlan:
    """The plan of what follows the values when so many attempts went into retries: they take from trials and proof."""
    goal = replace(plan.goal, rollouts=plan.goal.rollouts - retries)
    if batch.noisy:
        rest = max(goal.rollouts - plan.estimate, 0)
        return replace(plan, goal=goal, size=proof_size(min(rest, plan.size.rollouts), plan.size.tasks))
    return replace(plan, goal=goal, trials=max(plan.trials - retries, 0))
