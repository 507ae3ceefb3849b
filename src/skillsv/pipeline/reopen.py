"""Spending again on a run that is there: its skill, its agent, its tasks and its ledger, taken from its manifest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from skillsv.errors import SkillSVError, TaskError
from skillsv.model.coalition import Coalition, Operator, Rendering
from skillsv.model.events import RunFinished, RunStarted
from skillsv.model.protocols import Agent, Listener, Verifier
from skillsv.model.task import PanelA, PanelB, Task
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.cost import CostListener, measured_cost, require_measurable_budget
from skillsv.pipeline.job import TaskSource, ValuationJob, find_task_source, grading_of, make_renderer
from skillsv.pipeline.run import Run, load_run, recorded_settings
from skillsv.pipeline.session import make_engine
from skillsv.pipeline.value import runner_options
from skillsv.rollout import Forecast, Ledger, PerRollout, RunFolder, Runner, Stop, stop_on_signals
from skillsv.rollout.forecast import cost_of
from skillsv.sandbox.user_function import load_code
from skillsv.settings import Settings

REVISED: Coalition = frozenset({"the revised skill"})
"""Stands for a skill that is not cut from the valued one: in rollouts it is rendered whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOverrides:
    """What a command may change: where the tasks lie now, another agent, limits. None leaves it as it was."""

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
    """A run with everything that spending needs. `settings` carry the limits of this command, not of the valuation."""

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


def reopen(path: Path, again: RunOverrides) -> ReopenedRun:
    """Read the run and make its agent and verifier again. Nothing is run and nothing is written.

    Raises SettingsError where the limit of money of this command cannot be measured.
    """
    run = load_run(path)
    about = run.manifest["about"]
    job = ValuationJob(
        skill=Path(about["skill"]),
        tasks=again.tasks or Path(about["tasks"]),
        agent=again.agent or run.manifest["agent"]["spec"],
        settings=_limits(recorded_settings(run), again),
        folder=Path.cwd() if again.agent else Path(about["folder"]),
        task_source=again.task_source or find_task_source(about.get("kit", ""), about.get("variant", "")),
    )
    tasks = job.task_source.load_tasks(job.tasks, grading_of(job))
    verifier = job.task_source.make_verifier(job.tasks, tasks, grading_of(job))
    agent = make_client(job.task_source.make_agent, job.agent, job.settings, job.folder)
    folder = RunFolder(path)
    require_measurable_budget(job, measured_cost(folder, agent.fingerprint))
    changed = agent.fingerprint != run.manifest["agent"]["fingerprint"]
    return ReopenedRun(
        run=run,
        folder=folder,
        job=job,
        agent=agent,
        verifier=verifier,
        tasks={task.id: task for task in tasks},
        notes=("This is not the agent that the values were estimated with.",) if changed else (),
    )


def _limits(settings: Settings, again: RunOverrides) -> Settings:
    return replace(
        settings,
        jobs=again.jobs or settings.jobs,
        engine=again.engine or settings.engine,
        judge=again.judge or settings.judge,
        max_rollouts=again.max_rollouts,
        budget_usd=again.budget_usd,
        max_tokens=None,
        max_seconds=None,
    )


def panel_a(reopened: ReopenedRun) -> PanelA:
    """The tasks that values were estimated on, unchanged since."""
    return PanelA(tasks=_unchanged(reopened, reopened.run.manifest["panel_a"], "A"))


def panel_b(reopened: ReopenedRun) -> PanelB:
    """The tasks kept for confirmation, unchanged since; or other tasks altogether, none of which is in panel A.

    Tasks named anew are the same file in another place if panel B is among them, else they are a new panel B.
    """
    manifest, given = reopened.run.manifest, reopened.tasks
    kept: Mapping[str, str] = manifest["panel_b"]
    where = str(reopened.job.tasks)
    recorded = where == str(Path(manifest["about"]["tasks"]))
    if not recorded and not (kept and kept.keys() <= given.keys()):
        panel = PanelB(tasks=tuple(given.values()))
    elif kept:
        panel = PanelB(tasks=_unchanged(reopened, kept, "B"))
    else:
        raise TaskError(
            "the run kept no tasks for confirmation.",
            where=str(reopened.folder.path),
            hint="Name new tasks with --tasks, or value the skill again with --panel-b.",
        )
    _refuse_seen(panel.tasks, manifest["panel_a"], where)
    return panel


def _unchanged(reopened: ReopenedRun, recorded: Mapping[str, str], panel: str) -> tuple[Task, ...]:
    where = str(reopened.job.tasks)
    found = []
    for name, digest in recorded.items():
        task = reopened.tasks.get(name)
        if task is None:
            raise TaskError(
                f"task {name} of panel {panel} is not here any more.", where=where, hint="Say where it is with --tasks."
            )
        if task.digest != digest:
            raise TaskError(
                f"task {name} of panel {panel} has changed since the run (or its files or verifier have).",
                where=where,
                hint="Bring the old tasks back, or value the skill again.",
            )
        found.append(task)
    return tuple(found)


def _refuse_seen(tasks: Iterable[Task], seen: Mapping[str, str], where: str) -> None:
    digests = set(seen.values())
    both = [task.id for task in tasks if task.id in seen or task.digest in digests]
    if both:
        raise TaskError(
            f"{len(both)} tasks are in panel A, too, first {both[0]}: values were estimated on them, so they prove "
            "nothing.",
            where=where,
            hint="Confirm on tasks that the run has not seen.",
        )


def forecast_again(reopened: ReopenedRun, low: int, high: int) -> Forecast:
    """The cost of so many rollouts, at what the run's own rollouts took."""
    status = reopened.folder.status()
    measured = PerRollout.measured(status.rollouts, status.usage, status.seconds)
    few, many = (cost_of(number, measured, jobs=reopened.settings.jobs) for number in (low, high))
    return Forecast(low=few, expected=few, high=many, method="confirm")


@asynccontextmanager
async def spending(
    reopened: ReopenedRun,
    tasks: Iterable[Task],
    listener: Listener,
    stop: Stop,
    *,
    expected: int,
    purpose: str,
    revised: Rendering | None = None,
) -> AsyncIterator[Runner]:
    """A runner over the run's own ledger: what was paid for is reused, what is paid for now is kept."""
    load_code(reopened.agent, reopened.verifier)
    renderer = make_renderer(reopened.run.compiled, reopened.settings)

    def render(coalition: Coalition, operator: Operator) -> Rendering:
        return revised if revised is not None and coalition == REVISED else renderer.render(coalition, operator)

    trouble: SkillSVError | None = None
    listener = CostListener(listener, reopened.settings, expected)
    listener(RunStarted(run=reopened.folder.path.name, chains=0, expected_rollouts=expected))
    async with AsyncExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(reopened.folder.ledger))
        engine = await stack.enter_async_context(make_engine(reopened.job, reopened.agent, reopened.verifier, listener))
        signals = await stack.enter_async_context(anyio.create_task_group())
        signals.start_soon(stop_on_signals, stop)
        # A name of its own in the ledger: what the valuation cost stays what it was.
        options = runner_options(reopened.settings, f"{reopened.folder.run_id}-{purpose}")
        by_id = {task.id: task for task in tasks}
        try:
            yield Runner(engine, ledger, render, by_id, reopened.agent.fingerprint, options, listener, stop=stop)
        except SkillSVError as early:
            trouble = early  # raised again outside, where no task group wraps it
        signals.cancel_scope.cancel()
    listener(RunFinished(reason="done" if trouble is None else trouble.what))
    if trouble is not None:
        raise trouble
