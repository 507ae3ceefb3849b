"""Old against new, and pruning curves, on the tasks that no value has seen. Spends, through the run's ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np

from skillsv.compile import compile_skill
from skillsv.confirm import Proof, Track, Versions, prove, score_on_panel, track
from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.protocols import Listener
from skillsv.model.task import PanelB
from skillsv.model.value import Ranking
from skillsv.pipeline.edit import prune
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.publish import FILE, proof_dict, recorded_proof
from skillsv.pipeline.rankings import METHODS, RANDOM_ORDERS, loo_tasks, paths, ranked
from skillsv.pipeline.reopen import REVISED, ReopenedRun, RunOverrides, forecast_again, panel_b, reopen, spending
from skillsv.rollout import Forecast, Runner, Stop, check_noise
from skillsv.settings import compile_options

PROOF_STREAM = 13
NOISE_TASKS, NOISY_REPLICATES = 4, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmJob:
    """What is to be shown on panel B: this new skill (None: the run's own, pruned by its verdicts), these curves.

    `replicates` None: one for an agent that repeats itself, else several.
    """

    run: Path
    again: RunOverrides = field(default_factory=RunOverrides)
    skill: Path | None = None
    curves: tuple[str, ...] = ()
    checkpoints: int = 10
    replicates: int | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        unknown = [name for name in self.curves if name not in METHODS]
        if unknown:
            raise SettingsError(
                f"there is no method '{unknown[0]}' to draw a curve of.", hint=f"The methods are {', '.join(METHODS)}."
            )
        if self.checkpoints < 1 or (self.replicates is not None and self.replicates < 1):
            raise SettingsError("a curve needs a checkpoint, and a score a replicate.", hint="Give at least 1.")
        if not 0.5 <= self.level < 1:
            raise SettingsError(f"a level of {self.level:g} is no confidence level.", hint="Give 95, say.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedConfirmation:
    """Everything known before a rollout is paid for. `revised` is a skill that is not cut from the valued one."""

    job: ConfirmJob
    reopened: ReopenedRun
    panel: PanelB
    versions: Versions
    forecast: Forecast
    new: Rendering
    revised: Rendering | None = None


def prepare_confirmation(job: ConfirmJob) -> PreparedConfirmation:
    """Read the run, its panel B and the new skill; forecast. Nothing is run and nothing is written."""
    reopened = reopen(job.run, job.again)
    panel = panel_b(reopened)
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


def _versions(reopened: ReopenedRun, skill: Path | None) -> tuple[Versions, Rendering]:
    run, settings = reopened.run, reopened.settings
    pruned = prune(run, None)
    new, coalition, tokens = pruned.after, pruned.after.coalition, pruned.tokens_after
    if skill is not None:
        compiled = compile_skill(skill, compile_options(settings))
        renderer = make_renderer(compiled, settings)
        new = renderer.render(compiled.everything, Operator.DELETE)
        coalition, tokens = REVISED, renderer.total_tokens
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


def _forecast(reopened: ReopenedRun, job: ConfirmJob, tasks: int) -> Forecast:
    left_out_on = len(loo_tasks(reopened)) if "loo" in job.curves else 0
    low, high = rollouts_to_confirm(len(reopened.run.compiled.execution), tasks, left_out_on, job)
    return forecast_again(reopened, low, high)


def rollouts_to_confirm(units: int, tasks: int, left_out_on: int, job: ConfirmJob) -> tuple[int, int]:
    """What a confirmation on so many tasks takes: for an agent that repeats itself, and for one that does not."""
    tracks = sum(RANDOM_ORDERS if method == "random" else 1 for method in job.curves)
    versions = 4 + tracks * min(job.checkpoints, max(units - 1, 0))
    baselines = (units + 1) * left_out_on if "loo" in job.curves else 0
    baselines += units if "judge" in job.curves else 0
    few = job.replicates or 1
    many = job.replicates or NOISY_REPLICATES
    check = 0 if job.replicates else 2 * NOISY_REPLICATES * min(NOISE_TASKS, tasks)
    return baselines + versions * tasks * few, baselines + versions * tasks * many + check


async def confirm_versions(prepared: PreparedConfirmation, listener: Listener, stop: Stop) -> Proof:
    """Score everything on the whole of panel B and say what it shows. An early end keeps what was paid for."""
    reopened, job = prepared.reopened, prepared.job
    rankings = await ranked(reopened, job.curves, listener, stop)
    tracks = {method: _tracks(prepared, method, each) for method, each in rankings.items()}
    wanted = [*prepared.versions.all(), *(kept for each in tracks.values() for one in each for kept in one.kept)]
    expected = len(set(wanted)) * len(prepared.panel.tasks)
    async with spending(
        reopened,
        prepared.panel.tasks,
        listener,
        stop,
        expected=expected,
        purpose="confirm",
        revised=prepared.revised,
    ) as runner:
        replicates, notes = await _replicates(prepared, runner)
        (held,) = await runner.run_policies([score_on_panel(prepared.panel, wanted, replicates=replicates)])
    proof = prove(
        held,
        prepared.versions,
        tracks,
        [each[0] for each in rankings.values()],
        level=job.level,
        replicates=replicates,
        rng=np.random.default_rng([reopened.settings.seed, PROOF_STREAM]),
    )
    return replace(proof, notes=(*reopened.notes, *notes, *_left_out(proof), *_looks(prepared)))


def _tracks(prepared: PreparedConfirmation, method: str, rankings: Sequence[Ranking]) -> list[Track]:
    run = prepared.reopened.run
    return [
        track(run.compiled.everything, path, prepared.versions.tokens_old, prepared.job.checkpoints)
        for path in paths(run, method, rankings)
    ]


async def _replicates(prepared: PreparedConfirmation, runner: Runner) -> tuple[int, tuple[str, ...]]:
    """How often each rollout is repeated: as asked, or several times where the agent does not repeat itself."""
    if prepared.job.replicates is not None:
        return prepared.job.replicates, ()
    tasks = [task.id for task in prepared.panel.tasks[:NOISE_TASKS]]
    check = check_noise(tasks, prepared.versions.old, repeats=NOISY_REPLICATES)
    (noise,) = await runner.run_policies([check])
    if noise.deterministic:
        return 1, ()
    said = f"{noise.differing} of {noise.compared} repeated rollouts disagreed"
    return NOISY_REPLICATES, (f"{said}: every score is the mean of {NOISY_REPLICATES} replicates.",)


def _left_out(proof: Proof) -> tuple[str, ...]:
    if not proof.left_out:
        return ()
    return (f"{proof.left_out} tasks are left out: some version has no score on them. Run it again to fill them in.",)


def _looks(prepared: PreparedConfirmation) -> tuple[str, ...]:
    """Panel B proves something once; each further version that is tried on it weakens the proof."""
    earlier = set(recorded_proof(prepared.reopened.folder).get("looks", ())) - {prepared.new.digest}
    if not earlier:
        return ()
    times = "1 other version" if len(earlier) == 1 else f"{len(earlier)} other versions"
    return (f"Panel B has judged {times} of this skill before: choosing the best of several is no longer a proof.",)


def keep_proof(prepared: PreparedConfirmation, proof: Proof) -> Path:
    """Write the proof into the run folder, where the report finds it."""
    folder = prepared.reopened.folder
    looks = dict.fromkeys([*recorded_proof(folder).get("looks", ()), prepared.new.digest])
    table = {**proof_dict(proof), "run": folder.run_id, "looks": list(looks)}
    return folder.write(FILE, msgspec.json.format(msgspec.json.encode(table), indent=2))
