"""The paper's protocol on one benchmark, every step in its order.

value       estimate on panel A
leave_out   Closure-LOO on panel A; the judge and chance cost little or nothing
confirm     anchors and pruning curves of all methods on panel B
refine      one rewriting by an editor, if there is one, and old against new on panel B
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from skillsv.agents.editor import make_editor
from skillsv.benchmarks.trial import Trial
from skillsv.confirm import Proof
from skillsv.errors import BudgetReached
from skillsv.model.events import Event, RolloutFinished
from skillsv.model.protocols import Listener
from skillsv.model.value import Interval
from skillsv.pipeline import (
    Again,
    Prepared,
    Run,
    appraise,
    confirm_versions,
    keep_proof,
    load_run,
    prepare_confirmation,
    publish,
    refine_with,
    roll_out,
)
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.rankings import leave_out
from skillsv.pipeline.reopen import reopen
from skillsv.rollout import RunFolder, Stop
from skillsv.rollout.run_folder import run_id
from skillsv.sandbox.workspace import write_tree

REFINED = "refined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """A rewritten skill and how it did on panel B."""

    tokens_before: int
    tokens_after: int
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Everything that the protocol found."""

    run: Run
    loo_total: Interval
    loo_tasks: int
    proof: Proof
    refined: Refined | None = None


@dataclass(slots=True)
class Purse:
    """What one command has spent, over all steps: its limits hold for the protocol as a whole."""

    trial: Trial
    listener: Listener
    rollouts: int = 0
    usd: float = 0.0

    def __call__(self, event: Event) -> None:
        """Count what was paid for, and pass the event on."""
        if isinstance(event, RolloutFinished) and not event.reused:
            self.rollouts += 1
            self.usd += event.usage.usd or 0.0
        self.listener(event)

    def again(self) -> Again:
        """The same tasks and agent for the next step, and what is left to spend on it."""
        limits = self.trial.settings
        rollouts = None if limits.max_rollouts is None else limits.max_rollouts - self.rollouts
        usd = None if limits.budget_usd is None else limits.budget_usd - self.usd
        if (rollouts is not None and rollouts < 1) or (usd is not None and usd <= 0):
            raise BudgetReached(
                "the limit is used up before the protocol is.", hint="The same command with a higher one goes on."
            )
        kit = self.trial.kit
        return Again(
            judge=limits.judge,
            jobs=limits.jobs,
            max_rollouts=rollouts,
            budget_usd=usd,
            kits=lambda _name, _variant: kit,
        )


async def value(
    trial: Trial, prepared: Prepared, folder: RunFolder, listener: Listener, stop: Stop, *, keep_going: bool = False
) -> Run:
    """Estimate on panel A. What ended it early is raised: the protocol goes on from there when it is run again."""
    rolled = await roll_out(prepared, folder, listener, stop, keep_going=keep_going)
    if rolled.trouble is not None:
        if not rolled.nothing:
            valuation = appraise(prepared.compiled, trial.settings, trial.agent, rolled)
            publish(folder, replace(load_run(folder.path), valuation=valuation))
        raise rolled.trouble
    return load_run(folder.path)


async def run_trial(
    trial: Trial, prepared: Prepared, folder: RunFolder, listener: Listener, stop: Stop, *, keep_going: bool = False
) -> Tried:
    """The whole protocol. Every rollout goes to the run's ledger, so that the same command again resumes."""
    purse = Purse(trial, listener)
    run = await value(trial, prepared, folder, purse, stop, keep_going=keep_going)
    left_out = await leave_out(reopen(folder.path, purse.again()), purse, stop)
    held_out = prepare_confirmation(trial.confirmation(folder.path, purse.again()))
    proof = await confirm_versions(held_out, purse, stop)
    keep_proof(held_out, proof)
    publish(folder, run)
    refined = await _refined(trial, run, folder, purse, stop) if trial.editor else None
    return Tried(run=run, loo_total=left_out.total, loo_tasks=left_out.tasks, proof=proof, refined=refined)


async def _refined(trial: Trial, run: Run, folder: RunFolder, purse: Purse, stop: Stop) -> Refined:
    """One rewriting. It is kept in the run folder, and an editor is not asked again for what it has answered."""
    assert trial.editor is not None
    place = folder.path / REFINED / digest_of(trial.editor, run)
    if not place.exists():
        editor = make_client(make_editor, trial.editor, trial.settings, trial.job.folder)
        revision = await refine_with(run, editor, folder)
        write_tree(revision.after, place)
    main = place / run.compiled.skill.main if run.compiled.skill.single_file else place
    prepared = prepare_confirmation(trial.confirmation(folder.path, purse.again(), main))
    proof = await confirm_versions(prepared, purse, stop)
    versions = prepared.versions
    return Refined(tokens_before=versions.tokens_old, tokens_after=versions.tokens_new, proof=proof)


def digest_of(editor: str, run: Run) -> str:
    """Names what an editor was asked: by whom, and about which run."""
    return hashlib.sha256(f"{editor}\n{run_id(run.manifest)}".encode()).hexdigest()[:16]
