"""A run in its folder: reading it at any moment, also while it runs, and reopening it to run more rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillsv.compiler import compile_skill
from skillsv.errors import RecordsError, SettingsError, TaskError
from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.fingerprint import agrees, first_part
from skillsv.model.format import count
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import PanelA, PanelB, Task
from skillsv.model.value import Spending, Valuation
from skillsv.pipeline.build_valuation import RolloutResult, build_valuation
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.cost import measured_cost, require_measurable_budget
from skillsv.pipeline.job import (
    TaskSource,
    ValuationJob,
    find_task_source,
    grading_of,
    load_job_tasks,
    make_renderer,
)
from skillsv.pipeline.panel_history import mended_tasks, seen_by_values, unseen_tasks
from skillsv.rendering import Renderer
from skillsv.rollout import RunFolder
from skillsv.rollout.adaptive import least_budget
from skillsv.rollout.run_folder import Status
from skillsv.settings import EARLIER_BEHAVIOUR, Settings, compile_options, settings_from


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """A run, finished or not: everything that estimates, reports and edits need. `build_run` makes it.

    Runs are compared by identity, so that results that are computed from one can be cached.
    """

    renderer: Renderer
    settings: Settings
    records: tuple[ChainRecord, ...]
    observations: tuple[Observation, ...]
    valuation: Valuation
    manifest: Mapping[str, Any]

    @property
    def compiled(self) -> CompiledSkill:
        """The skill as it was valued."""
        return self.renderer.compiled


def build_run(renderer: Renderer, settings: Settings, manifest: Mapping[str, Any], result: RolloutResult) -> Run:
    """The run with its valuation, from what its rollouts gave."""
    valuation = build_valuation(
        renderer.compiled,
        settings,
        manifest["agent"]["spec"],
        result,
        renderer=renderer,
        panel=len(manifest.get("panel_a", ())),
        strata=manifest.get("about", {}).get("strata"),
    )
    return Run(
        renderer=renderer,
        settings=settings,
        records=result.records,
        observations=result.observations,
        valuation=replace(valuation, next_budget=_next_budget(valuation, settings, manifest, result.observations)),
        manifest=manifest,
    )


def _next_budget(
    valuation: Valuation, settings: Settings, manifest: Mapping[str, Any], observations: Sequence[Observation]
) -> int | None:
    """The rollouts to try next where units have no value yet.

    For chains it is the forecast of the whole run; None where all chains are finished or have cost more. For an
    adaptive run it is the least that a run needs, or twice as many as were run.
    """
    if all(unit.value.has_value for unit in valuation.units):
        return None
    if settings.method == "chain":
        forecast = valuation.rollouts.forecast or 0
        unfinished = valuation.estimate.chains < settings.orders
        return forecast if unfinished and forecast > valuation.rollouts.spent else None
    noisy = any(observation.agent_is_noisy for observation in observations)
    least = least_budget(len(manifest["panel_a"]), noisy=noisy, operators=len(settings.operators))
    answers = max(len(observations), settings.max_rollouts or 0)
    return least if least > answers else 2 * answers


def load_run(path: Path, changes: Mapping[str, Any] | None = None) -> Run:
    """Read a run folder and estimate from its records. `changes` are settings of the estimate, such as the level."""
    folder = RunFolder(path)
    manifest = read_manifest(folder)
    settings = manifest_settings(manifest, changes)
    stored = folder.read_records()
    status = folder.status(stored)
    result = RolloutResult(
        records=tuple(stored.chains.values()),
        panel_anchors=stored.panel_anchors,
        observations=stored.observations,
        spending=_total_spending(status, manifest),
        usage=status.usage,
        notes=folder.notes(),
        prior=folder.prior(),
    )
    compiled = compile_stored_skill(folder, manifest["skill"], settings)
    _check_belonging(result, compiled, settings, manifest, path)
    if result.nothing:
        raise RecordsError(
            f"no chain or round of this run is complete yet; {count(result.spending.spent)} rollouts are kept.",
            where=str(path),
            hint="Run the same 'skillsv value' again: it continues from there.",
        )
    run = build_run(make_renderer(compiled, settings), settings, manifest, result)
    missing_chains = settings.method == "chain" and len(result.records) < settings.orders
    return replace(run, valuation=replace(run.valuation, provisional=folder.provisional or missing_chains))


def manifest_settings(manifest: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Settings:
    """The settings that a manifest recorded, with these changes."""
    recorded = {**manifest["settings"], **manifest["about"]["settings"]}
    return settings_from({**EARLIER_BEHAVIOUR, **recorded, **(changes or {})})


_MANIFEST_PARTS: dict[str, set[str]] = {
    "skill": {"name", "main", "single_file"},
    "agent": {"spec", "fingerprint"},
    "about": {"forecast", "settings"},
    "digest": {"digest"},
    "settings": {"settings"},
    "panel_a": {"panel_a"},
    "panel_b": {"panel_b"},
}
"""What every manifest holds, since the first version."""


def read_manifest(folder: RunFolder) -> Mapping[str, Any]:
    """The manifest of the run in this folder. Raises RecordsError where there is none."""
    manifest = folder.manifest()
    if manifest is None:
        raise RecordsError(
            "there is no run in this folder.", where=str(folder.path), hint="Begin one with 'skillsv value'."
        )
    missing = [name for name, parts in _MANIFEST_PARTS.items() if not parts <= _parts(manifest, name)]
    if missing:
        raise RecordsError(
            f"the manifest lacks parts of {', '.join(missing)}.",
            where=str(folder.path),
            hint="Move it away; the ledger keeps what was paid for.",
        )
    return manifest


def _parts(manifest: Mapping[str, Any], name: str) -> set[str]:
    """The names of what a part of the manifest holds, and the name of the part itself."""
    part = manifest.get(name)
    return {name, *part} if isinstance(part, Mapping) else {name} if name in manifest else set()


def compile_stored_skill(folder: RunFolder, skill: Mapping[str, Any], settings: Settings) -> CompiledSkill:
    """The skill as it was valued, compiled from the copy in the run folder."""
    path = folder.skill / skill["main"] if skill["single_file"] else folder.skill
    compiled = compile_skill(path, compile_options(settings))
    return replace(compiled, skill=replace(compiled.skill, name=skill["name"]))


def _check_belonging(
    result: RolloutResult, compiled: CompiledSkill, settings: Settings, manifest: Mapping[str, Any], path: Path
) -> None:
    """Raises RecordsError where records name units, operators or tasks that the run does not have."""
    units = {compiled.trigger, *compiled.execution}
    chains, observations, anchors = result.records, result.observations, result.panel_anchors
    tasks = {task for chain in chains for task in chain.plan.window.tasks}
    tasks.update(observation.task for observation in observations)
    tasks.update(() if anchors is None else anchors.tasks)
    if (
        any(set(chain.plan.order) != units or chain.plan.order[0] != compiled.trigger for chain in chains)
        or any(chain.plan.operators != settings.operators for chain in chains)
        or any(not observation.coalition <= units for observation in observations)
        or not tasks <= set(manifest["panel_a"])
    ):
        raise RecordsError(
            "the records do not belong to this skill, these settings and these tasks.",
            where=str(path),
            hint="Move records.jsonl away: the same 'skillsv value' fills a new one from the ledger.",
        )


def _total_spending(status: Status, manifest: Mapping[str, Any]) -> Spending:
    """What all sessions of the run have spent so far."""
    return Spending(
        spent=status.rollouts,
        reused=status.reused,
        failed=status.missing,
        forecast=manifest["about"]["forecast"],
        cut=status.cut,
    )


def recorded_settings(run: Run) -> Settings:
    """The settings of a run for a command in any folder: paths in them start at the folder where the run was made."""
    settings, folder = run.settings, Path(run.manifest["about"]["folder"])
    prices, logs = (None if path is None else str(folder / path) for path in (settings.prices, settings.inspect_logs))
    return replace(settings, prices=prices, inspect_logs=logs)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOverrides:
    """What a later command may change: where the tasks are now, another agent, limits. None: as recorded."""

    tasks: Path | None = None
    agent: str | None = None
    judge: str | None = None
    jobs: int | None = None
    engine: str | None = None
    max_rollouts: int | None = None
    budget_usd: float | None = None
    task_source: TaskSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenedRun:
    """A run with everything that rollouts need. `settings` hold the limits of this command, not of the valuation."""

    run: Run
    folder: RunFolder
    job: ValuationJob
    agent: Agent
    verifier: Verifier
    tasks: Mapping[str, Task]
    notes: tuple[str, ...] = ()

    @property
    def settings(self) -> Settings:
        """The settings of this command."""
        return self.job.settings


def reopen(path: Path, overrides: RunOverrides) -> ReopenedRun:
    """Read the run and make its agent and verifier again. Nothing is run and nothing is written.

    Raises SettingsError where the limit of money of this command cannot be measured.
    """
    run = load_run(path)
    about = run.manifest["about"]
    job = ValuationJob(
        skill=Path(about["skill"]) if about["skill"] else None,
        tasks=overrides.tasks or (Path(about["tasks"]) if about["tasks"] else None),
        agent=overrides.agent or run.manifest["agent"]["spec"],
        settings=_apply_overrides(recorded_settings(run), overrides),
        folder=Path.cwd() if overrides.agent else Path(about["folder"]),
        task_source=overrides.task_source or find_task_source(about.get("kit", ""), about.get("variant", "")),
        compiled=run.compiled,
    )
    tasks = load_job_tasks(job)
    verifier = job.task_source.make_verifier(job.tasks_path, tasks, grading_of(job))
    agent = make_client(job.task_source.make_agent, job.agent, job.settings, job.folder)
    folder = RunFolder(path)
    require_measurable_budget(job, measured_cost(folder, agent.fingerprint))
    changed = not agrees(agent.fingerprint, run.manifest["agent"]["fingerprint"])
    return ReopenedRun(
        run=run,
        folder=folder,
        job=job,
        agent=agent,
        verifier=verifier,
        tasks={task.id: task for task in tasks},
        notes=("This is not the agent that the values were estimated with.",) if changed else (),
    )


def _apply_overrides(settings: Settings, overrides: RunOverrides) -> Settings:
    """The settings of this command. What the user declared about the recorded agent does not hold for another one."""
    return replace(
        settings,
        agent_version=None if overrides.agent else settings.agent_version,
        depends_on=() if overrides.agent else settings.depends_on,
        reuse_unchecked=False,
        recheck=None,
        jobs=overrides.jobs or settings.jobs,
        engine=overrides.engine or settings.engine,
        judge=overrides.judge or settings.judge,
        max_rollouts=overrides.max_rollouts,
        budget_usd=overrides.budget_usd,
        max_tokens=None,
        max_seconds=None,
    )


def refuse_idle_judge(overrides: RunOverrides, tasks: Iterable[Task], hint: str = "Leave it out.") -> None:
    """Raise SettingsError where a judge is named that grades none of these tasks."""
    if overrides.judge and not any(task.verifier == f"judge:{overrides.judge}" for task in tasks):
        raise SettingsError("--judge has no effect here: it grades no task.", hint=hint)


def panel_a(reopened: ReopenedRun) -> PanelA:
    """The tasks that values were estimated on. Raises TaskError where one has changed since."""
    return PanelA(tasks=_unchanged_tasks(reopened, reopened.run.manifest["panel_a"], "A"))


def panel_b(reopened: ReopenedRun) -> PanelB:
    """The tasks reserved for confirmation, unchanged since; or new tasks, none of which is in panel A.

    Tasks of another path are the same tasks in another place if all of panel B is among them, else a new panel B.
    """
    manifest, given = reopened.run.manifest, reopened.tasks
    reserved: Mapping[str, str] = manifest["panel_b"]
    where = str(reopened.job.tasks_path)
    same_path = where == str(Path(manifest["about"]["tasks"]))
    if not same_path and not (reserved and reserved.keys() <= given.keys()):
        panel = PanelB(tasks=tuple(given.values()))
    elif reserved:
        panel = PanelB(tasks=_unchanged_tasks(reopened, reserved, "B"))
    else:
        raise TaskError(
            "the run kept no tasks for confirmation.",
            where=str(reopened.folder.path),
            hint="Name new tasks with --tasks, or value the skill again with --panel-b.",
        )
    _refuse_tasks_of_panel_a(panel.tasks, manifest["panel_a"], where)
    _refuse_seen_tasks(panel.tasks, reopened.folder, where)
    return _without_mended(panel, reopened.folder, where)


def _without_mended(panel: PanelB, folder: RunFolder, where: str) -> PanelB:
    """The panel without tasks on which a shrink mended a set. Raises TaskError where none is left."""
    left = unseen_tasks(panel.tasks, mended_tasks(folder))
    if panel.tasks and not left:
        raise TaskError(
            "a shrink has used all of these tasks to mend a set: they prove nothing any more.",
            where=where,
            hint="Name other tasks with --tasks.",
        )
    return PanelB(tasks=left)


def _refuse_seen_tasks(tasks: Sequence[Task], folder: RunFolder, where: str) -> None:
    """Raise TaskError where the ledger shows that some value of this folder, also of an earlier run, saw a task."""
    unseen = {task.id for task in unseen_tasks(tasks, seen_by_values(folder))}
    seen = [task.id for task in tasks if task.id not in unseen]
    if seen:
        raise TaskError(
            f"{len(seen)} tasks have been seen by a value of this folder, first {seen[0]}: they prove nothing.",
            where=where,
            hint="Confirm on other tasks, or value the skill again: tasks that were seen go into panel A.",
        )


def _unchanged_tasks(reopened: ReopenedRun, digests: Mapping[str, str], panel: str) -> tuple[Task, ...]:
    where = str(reopened.job.tasks_path)
    tasks = []
    for name, digest in digests.items():
        task = reopened.tasks.get(name)
        if task is None:
            raise TaskError(
                f"task {name} of panel {panel} is not here any more.",
                where=where,
                hint="Name the place of the tasks with --tasks.",
            )
        if not agrees(task.digest, digest):
            raise TaskError(
                f"task {name} of panel {panel} has changed since the run (or its files or verifier have).",
                where=where,
                hint="Restore the old tasks, or value the skill again.",
            )
        tasks.append(task)
    return tuple(tasks)


def _refuse_tasks_of_panel_a(tasks: Iterable[Task], panel_a: Mapping[str, str], where: str) -> None:
    digests = set(map(first_part, panel_a.values()))
    shared = [task.id for task in tasks if task.id in panel_a or first_part(task.digest) in digests]
    if shared:
        raise TaskError(
            f"{len(shared)} tasks are in panel A, too, first {shared[0]}: values were estimated on them, so they prove "
            "nothing.",
            where=where,
            hint="Confirm on tasks that the run has not seen.",
        )
