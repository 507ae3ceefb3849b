"""Old skill against new, and pruning curves, on the tasks of panel B. Runs rollouts through the run's ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np

from skillsv.compiler import compile_skill
from skillsv.confirmation import Checkpoints, Gate, Proof, Versions, choose_checkpoints, prove, score_on_panel
from skillsv.confirmation.curves import Comparison
from skillsv.confirmation.gate import DEFAULT_MAX_DROP
from skillsv.errors import RecordsError, SettingsError
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.confirmation_document import (
    ComparisonDocument,
    ConfirmationDocument,
    CurveDocument,
    CurvePointDocument,
)
from skillsv.model.edit import Confirmation, PruningCurve
from skillsv.model.protocols import Listener
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import PanelB
from skillsv.model.value import Ranking
from skillsv.pipeline.cost import forecast_more_rollouts
from skillsv.pipeline.edit import prune
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.publish import CONFIRMATION_SCHEMA, recorded_proof
from skillsv.pipeline.rankings import METHODS, PAIR_AWARE, RANDOM_ORDERS, loo_tasks, make_rankings, pruning_paths
from skillsv.pipeline.replicates import NOISY_REPLICATES, choose_replicates, count_repeats
from skillsv.pipeline.run import ReopenedRun, RunOverrides, panel_b, refuse_idle_judge, reopen
from skillsv.pipeline.session import REVISED, open_recorded_run
from skillsv.report.valuation_json import anchors_dict, interval_dict
from skillsv.rollout import Forecast, RunFolder, Stop
from skillsv.rollout.run_folder import CONFIRMATION
from skillsv.settings import compile_options

PROOF_STREAM = 13
"""Random stream of the intervals and permutations of a proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmJob:
    """What to confirm on panel B: a new skill (None: the run's own, pruned by its verdicts), and pruning curves.

    The new skill is a path, a compiled skill, or the files of a skill. A judge in `overrides` adds its curve to the
    others. `replicates` None: one for a deterministic agent, several for a noisy one.
    """

    run: Path
    overrides: RunOverrides = field(default_factory=RunOverrides)
    skill: Path | CompiledSkill | Rendering | None = None
    curves: tuple[str, ...] = ()
    checkpoints: int = 10
    replicates: int | None = None
    level: float = 0.95
    max_drop: float = DEFAULT_MAX_DROP

    @property
    def gate(self) -> Gate:
        """What must be proved."""
        return Gate(max_drop=self.max_drop, level=self.level)

    def __post_init__(self) -> None:
        unknown = [name for name in self.curves if name not in METHODS]
        if unknown:
            raise SettingsError(
                f"there is no method '{unknown[0]}' to draw a curve of.", hint=f"The methods are {', '.join(METHODS)}."
            )
        if self.checkpoints < 1 or (self.replicates is not None and self.replicates < 1):
            raise SettingsError("a curve needs a checkpoint, and a score needs a replicate.", hint="Give at least 1.")
        if not 0.5 <= self.level < 1:
            raise SettingsError(f"a level of {self.level:g} is no confidence level.", hint="Give a level such as 95.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedConfirmation:
    """Everything known before the first rollout. `revised` is a new skill that is no coalition of the valued one."""

    job: ConfirmJob
    reopened: ReopenedRun
    panel: PanelB
    versions: Versions
    forecast: Forecast
    new: Rendering
    revised: Rendering | None = None


def prepare_confirmation(job: ConfirmJob) -> PreparedConfirmation:
    """Read the run, its panel B and the new skill; forecast. Nothing is run and nothing is written.

    Raises SettingsError for a judge that nothing would ask, and for a judge's curve without a judge.
    """
    reopened = reopen(job.run, job.overrides)
    panel = panel_b(reopened)
    job = _with_judge_curve(job)
    if "judge" in job.curves and not reopened.settings.judge:
        raise SettingsError("the judge's curve needs a judge.", hint="Name an agent with --judge.")
    if not job.curves:
        refuse_idle_judge(job.overrides, panel.tasks, hint="Leave it out, or draw its curve: --curves judge.")
    versions, new = _versions(reopened, job.skill)
    return PreparedConfirmation(
        job=job,
        reopened=reopened,
        panel=panel,
        versions=versions,
        forecast=_forecast(reopened, job, len(panel.tasks)),
        new=new,
        revised=None if job.skill is None else new,
    )


def _with_judge_curve(job: ConfirmJob) -> ConfirmJob:
    """The job with the curve of the judge that it names, where it draws curves at all."""
    if not job.curves or not job.overrides.judge or "judge" in job.curves:
        return job
    return replace(job, curves=(*job.curves, "judge"))


def _versions(reopened: ReopenedRun, skill: Path | CompiledSkill | Rendering | None) -> tuple[Versions, Rendering]:
    run = reopened.run
    pruned = prune(run, None)
    new, coalition, tokens = pruned.after, pruned.after.coalition, pruned.tokens_after
    if skill is not None:
        coalition = REVISED
        new, tokens = _render_new(reopened, skill)
    versions = Versions(
        empty=frozenset(),
        trigger=frozenset({run.compiled.trigger}),
        old=run.compiled.everything,
        new=coalition,
        tokens_old=pruned.tokens_before,
        tokens_new=tokens,
        same=new.digest == pruned.before.digest,
    )
    return versions, new


def _render_new(reopened: ReopenedRun, skill: Path | CompiledSkill | Rendering) -> tuple[Rendering, int]:
    """The files of a new skill, and their tokens."""
    if isinstance(skill, Rendering):
        return skill, reopened.run.renderer.count_tokens(skill)
    settings = reopened.settings
    compiled = skill if isinstance(skill, CompiledSkill) else compile_skill(skill, compile_options(settings))
    renderer = make_renderer(compiled, settings)
    return renderer.render(compiled.everything, Operator.DELETE), renderer.total_tokens


def _forecast(reopened: ReopenedRun, job: ConfirmJob, tasks: int) -> Forecast:
    left_out_on = len(loo_tasks(reopened)) if "loo" in job.curves else 0
    low, high = rollouts_to_confirm(len(reopened.run.compiled.execution), tasks, left_out_on, job)
    return forecast_more_rollouts(reopened.folder, reopened.settings.jobs, low, high)


def rollouts_to_confirm(units: int, tasks: int, left_out_on: int, job: ConfirmJob) -> tuple[int, int]:
    """The rollouts of a confirmation on so many tasks: for a deterministic agent, and for a noisy one."""
    paths = sum(RANDOM_ORDERS if method == "random" else 1 for method in job.curves)
    versions = 4 + paths * min(job.checkpoints, max(units - 1, 0))
    baselines = (units + 1) * left_out_on if "loo" in job.curves else 0
    baselines += units if "judge" in job.curves else 0
    few = job.replicates or 1
    many = job.replicates or NOISY_REPLICATES
    repeats = count_repeats(versions, tasks, given=job.replicates)
    return baselines + versions * tasks * few + repeats, baselines + versions * tasks * many


async def confirm_versions(prepared: PreparedConfirmation, listener: Listener, stop: Stop | None) -> Proof:
    """Score all versions and checkpoints on the whole of panel B, and compare them. An early end keeps the rollouts."""
    reopened, job = prepared.reopened, prepared.job
    rankings = await make_rankings(reopened, job.curves, listener, stop)
    checkpoints = {method: _checkpoints(prepared, method, ranked) for method, ranked in rankings.items()}
    coalitions = [
        *prepared.versions.all(),
        *(coalition for paths in checkpoints.values() for path in paths for coalition in path.kept),
    ]
    async with open_recorded_run(
        reopened,
        prepared.panel.tasks,
        listener,
        stop,
        expected=len(set(coalitions)) * len(prepared.panel.tasks),
        purpose="confirm",
        revised=prepared.revised,
    ) as runner:
        tasks = [task.id for task in prepared.panel.tasks]
        replicates, notes = await choose_replicates(
            runner, coalitions, tasks, given=job.replicates, seed=reopened.settings.seed
        )
        (scores,) = await runner.run_policies([score_on_panel(prepared.panel, coalitions, replicates=replicates)])
    proof = prove(
        scores,
        prepared.versions,
        checkpoints,
        [ranked[0] for method, ranked in rankings.items() if method != PAIR_AWARE or "skillsv" not in rankings],
        level=job.level,
        max_drop=job.max_drop,
        replicates=replicates,
        rng=np.random.default_rng([reopened.settings.seed, PROOF_STREAM]),
    )
    return replace(proof, notes=(*reopened.notes, *notes, *_left_out_note(proof), *_earlier_versions_note(prepared)))


def _checkpoints(prepared: PreparedConfirmation, method: str, rankings: Sequence[Ranking]) -> list[Checkpoints]:
    run = prepared.reopened.run
    return [
        choose_checkpoints(run.compiled.everything, path, prepared.versions.tokens_old, prepared.job.checkpoints)
        for path in pruning_paths(run, method, rankings)
    ]


def _left_out_note(proof: Proof) -> tuple[str, ...]:
    if not proof.left_out:
        return ()
    return (f"{proof.left_out} tasks are left out: some version has no score on them. Run it again to fill them in.",)


def _earlier_versions_note(prepared: PreparedConfirmation) -> tuple[str, ...]:
    """Panel B proves one version; choosing the best of several versions on it is no proof."""
    earlier = set(recorded_proof(prepared.reopened.folder).get("looks", ())) - {prepared.new.digest}
    if not earlier:
        return ()
    versions = "1 other version" if len(earlier) == 1 else f"{len(earlier)} other versions"
    return (f"Panel B has judged {versions} of this skill before: choosing the best of several is no longer a proof.",)


def proof_dict(proof: Proof) -> ConfirmationDocument:
    """The proof as `skillsv.confirmation/1`."""
    confirmation = proof.confirmation
    return {
        "schema": CONFIRMATION_SCHEMA,
        "tasks": confirmation.tasks,
        "old": interval_dict(confirmation.old),
        "new": interval_dict(confirmation.new),
        "delta": interval_dict(confirmation.delta),
        "tokens_old": confirmation.tokens_old,
        "tokens_new": confirmation.tokens_new,
        "curves": [_curve_dict(curve) for curve in confirmation.curves],
        "at_worst": proof.at_worst,
        "max_drop": confirmation.max_drop,
        "anchors": anchors_dict(proof.anchors),
        "level": proof.level,
        "replicates": proof.replicates,
        "left_out": proof.left_out,
        "changed_tasks": proof.changed_tasks,
        "comparisons": [comparison_dict(comparison) for comparison in proof.comparisons],
        "agreements": [
            {"first": pair.first, "second": pair.second, "tau": pair.tau, "p": pair.p, "p_holm": pair.p_holm}
            for pair in proof.agreements
        ],
        "areas": {method: list(values) for method, values in proof.areas.items()},
        "notes": list(proof.notes),
        "outcome": confirmation.outcome.value,
        "token_share": _token_share(confirmation),
    }


def comparison_dict(comparison: Comparison) -> ComparisonDocument:
    """The difference of two methods as JSON values."""
    return {
        "first": comparison.first,
        "second": comparison.second,
        "difference": interval_dict(comparison.difference),
    }


def _curve_dict(curve: PruningCurve) -> CurveDocument:
    points: list[CurvePointDocument] = [
        {
            "share_removed": point.share_removed,
            "tokens_left": point.tokens_left,
            "score": interval_dict(point.score),
        }
        for point in curve.points
    ]
    return {"method": curve.method, "points": points, "auc": interval_dict(curve.auc)}


def _token_share(confirmation: Confirmation) -> float:
    return confirmation.tokens_new / confirmation.tokens_old if confirmation.tokens_old else 1.0


def keep_proof(prepared: PreparedConfirmation, proof: Proof) -> Path:
    """Write the proof into the run folder, where the report reads it."""
    return store_proof(prepared.reopened.folder, prepared.new.digest, proof)


def store_proof(folder: RunFolder, digest: str, proof: Proof) -> Path:
    """Write the proof of the version with this digest into a run folder.

    `looks` are all versions judged on panel B, `earlier` all proofs before this one, the oldest first.
    """
    last = dict(recorded_proof(folder))
    looks = dict.fromkeys([*last.get("looks", ()), digest])
    earlier = [*last.pop("earlier", ()), last] if last else []
    table: ConfirmationDocument = {
        **proof_dict(proof),
        "run": folder.run_id,
        "looks": list(looks),
        "earlier": earlier,
    }
    if not last:
        folder.keep_other_proof()
    return folder.write(CONFIRMATION, msgspec.json.format(msgspec.json.encode(table), indent=2))


def recorded_areas(run: Path) -> Mapping[str, Sequence[float]]:
    """The areas under the pruning curves of a confirmed run, task by task."""
    areas: Mapping[str, Sequence[float]] = recorded_proof(RunFolder(run)).get("areas", {})
    if not areas:
        raise RecordsError(
            "no pruning curves were confirmed for this run.", where=str(run), hint="Run 'skillsv confirm' on it first."
        )
    return areas
