"""Where rollouts run, here or on a Ray cluster: the only place that opens ledger, engine, signals and runner."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import anyio

from skillsv.agents import name_provider
from skillsv.errors import SettingsError, SkillSVError
from skillsv.model.coalition import Coalition, Operator, Rendering
from skillsv.model.events import Note, RunFinished, RunStarted
from skillsv.model.protocols import Agent, Listener, Verifier
from skillsv.model.task import Task
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.cost import CostListener, needs_cost
from skillsv.pipeline.job import Grading, PreparedRun, ValuationJob, grading_of, make_manifest
from skillsv.pipeline.reuse import describe_others, describe_reuse, take_over
from skillsv.pipeline.run import ReopenedRun
from skillsv.rollout import (
    Engine,
    Ledger,
    LocalEngine,
    Render,
    RunFolder,
    Runner,
    RunnerOptions,
    Stop,
    budget,
    read_stop_files,
    run_id,
    stop_on_file,
    stop_on_signals,
)
from skillsv.rollout.ray.cluster_options import LOCAL, ClusterOptions
from skillsv.rollout.run_folder import AGENT_LOG
from skillsv.rollout.run_group import RunGroup
from skillsv.rollout.stop_rules import Continued, Progress, ShareOf, StopRule
from skillsv.sandbox.captured_prints import log_prints
from skillsv.sandbox.covered_files import find_change
from skillsv.sandbox.user_function import load_code
from skillsv.settings import Settings

REVISED: Coalition = frozenset({"the revised skill"})
"""Stands for a skill that is no coalition of the valued one: `open_recorded_run` renders it as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the rollouts of one command need: agent, verifier, tasks and renderings, and the folder with the ledger."""

    job: ValuationJob
    agent: Agent
    verifier: Verifier
    tasks: Iterable[Task]
    render: Render
    folder: RunFolder
    options: RunnerOptions


def session_of(prepared: PreparedRun, folder: RunFolder, earlier: Progress | None = None) -> Session:
    """The session of a valuation on panel A. `earlier` is what earlier sessions of the same job spent."""
    return Session(
        job=prepared.job,
        agent=prepared.agent,
        verifier=prepared.verifier,
        tasks=prepared.panel_a.tasks,
        render=prepared.renderer.render,
        folder=folder,
        options=runner_options(prepared.job.settings, run_id(make_manifest(prepared)), earlier),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSession:
    """What the sessions of several agents share that run at the same time.

    `engine` runs the rollouts of all agents, on a cluster; None where each agent has an engine on this machine.
    """

    ledger: Ledger
    engine: Engine | None
    runs: RunGroup


@asynccontextmanager
async def open_shared(
    prepared: Sequence[PreparedRun], folder: RunFolder, settings: Settings, listener: Listener, stop: Stop
) -> AsyncIterator[SharedSession]:
    """Open what several agents share: the ledger of `folder`, the limits of `settings`, a cluster, signals."""
    async with AsyncExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(folder.ledger))
        stack.enter_context(log_prints(folder.path / AGENT_LOG))
        engine = None
        if settings.engine != "local":
            engine = await stack.enter_async_context(make_cluster_engine(prepared, listener))
        stack.enter_context(stop_on_signals(stop))
        yield SharedSession(ledger=ledger, engine=engine, runs=RunGroup(settings.jobs, limits_of(settings)))


@asynccontextmanager
async def open_runner(
    session: Session,
    listener: Listener,
    stop: Stop | None = None,
    *,
    on_locked: Callable[[], object] = lambda: None,
    shared: SharedSession | None = None,
) -> AsyncIterator[Runner]:
    """Open everything that rollouts need, and close it at the end. Paid rollouts are reused, new ones are kept.

    `on_locked` is called when the ledger is locked, before the engine starts. A signal such as Ctrl-C sets `stop`;
    outside the main thread signals are not handled. So does a file that asks the run to stop, also one from the time
    since the session before. Without a `stop`, neither is looked for. What is `shared` is open already, and stays open.
    """
    error: SkillSVError | None = None
    async with AsyncExitStack() as stack:
        ledger = shared.ledger if shared else stack.enter_context(Ledger.open(session.folder.ledger))
        on_locked()
        if shared is None:
            stack.enter_context(log_prints(session.folder.path / AGENT_LOG))
        engine = None if shared is None else shared.engine
        if engine is None:
            engine = make_engine(session.job, session.agent, session.verifier, listener)
            engine = await stack.enter_async_context(engine)
        if stop is not None:
            requests = await stack.enter_async_context(anyio.create_task_group())
            read_stop_files(stop, session.folder.stop_files())
            stack.callback(lambda: read_stop_files(stop, session.folder.stop_files()))
            requests.start_soon(stop_on_file, stop, session.folder.stop_files)
            if shared is None:
                stack.enter_context(stop_on_signals(stop))
            stack.callback(requests.cancel_scope.cancel)
        tasks = {task.id: task for task in session.tasks}
        note_stored(session, ledger, {task.digest for task in tasks.values()}, listener)
        fingerprint, settings = session.agent.fingerprint, session.job.settings
        options = replace(
            session.options,
            provider=name_provider(session.job.agent, settings.base_url),
            budget=ShareOf(session.options.budget, session.job.agents),
        )
        unchanged = partial(require_unchanged, session.agent, session.verifier)
        try:
            yield Runner(
                engine,
                ledger,
                session.render,
                tasks,
                fingerprint,
                options,
                listener,
                stop=stop,
                require_unchanged=unchanged,
                runs=None if shared is None else shared.runs,
            )
        except SkillSVError as raised:
            error = raised  # raised again below, where no task group wraps it
        reuse = describe_reuse(ledger, session.job.agent, session.agent)
        if reuse is not None:
            listener(Note(message=reuse))
    if error is not None:
        raise error


@asynccontextmanager
async def open_recorded_run(
    reopened: ReopenedRun,
    tasks: Iterable[Task],
    listener: Listener,
    stop: Stop | None,
    *,
    expected: int,
    purpose: str,
    revised: Rendering | None = None,
) -> AsyncIterator[Runner]:
    """A runner over the ledger of a recorded run, which announces its start and end.

    `purpose` names the rollouts in the ledger, so that what the valuation has spent does not change. `revised` is the
    rendering of the coalition `REVISED`.
    """
    load_code(reopened.agent, reopened.verifier)
    renderer = reopened.run.renderer

    def render(coalition: Coalition, operator: Operator, null_change: int = 0) -> Rendering:
        if revised is not None and coalition == REVISED:
            return revised
        return renderer.render(coalition, operator, null_change)

    session = Session(
        job=reopened.job,
        agent=reopened.agent,
        verifier=reopened.verifier,
        tasks=tasks,
        render=render,
        folder=reopened.folder,
        options=runner_options(reopened.settings, f"{reopened.folder.run_id}-{purpose}"),
    )
    listener = CostListener(listener, reopened.settings, expected)
    listener(RunStarted(run=reopened.folder.path.name, chains=0, expected_rollouts=expected))
    try:
        async with open_runner(session, listener, stop) as runner:
            yield runner
    except SkillSVError as error:
        listener(RunFinished(reason=error.what))
        raise
    listener(RunFinished(reason="done"))


def note_stored(session: Session, ledger: Ledger, tasks: Collection[str], listener: Listener) -> None:
    """Take over stored rollouts with other inputs if the user said so; else say that there are some."""
    agent = session.agent.fingerprint
    describe = take_over if session.job.settings.reuse_unchecked else describe_others
    sentence = describe(ledger, agent, tasks)
    if sentence is not None:
        listener(Note(message=sentence))


def require_unchanged(agent: Agent, verifier: Verifier) -> None:
    """Raise SettingsError where a file of the agent or the verifier is not the one that the keys cover any more."""
    changed = find_change(agent, verifier)
    if changed is not None:
        raise SettingsError(
            "this file of the agent or verifier changed during the run; answers after the change were not saved.",
            where=str(changed),
            hint="The same command continues: what the new file changes is run again. To call it the same agent, give "
            "it a version: --agent-version 1.",
        )


def runner_options(settings: Settings, run: str, earlier: Progress | None = None) -> RunnerOptions:
    """The part of the settings that the runner reads. `run` names the rollouts in the ledger.

    The limits hold for the job: what its `earlier` sessions spent counts.
    """
    limits = limits_of(settings)
    return RunnerOptions(
        jobs=settings.jobs,
        attempts=settings.attempts,
        timeout=settings.timeout,
        per_minute=settings.max_per_minute,
        max_missing=settings.max_missing,
        seed=settings.seed,
        run=run,
        budget=limits if earlier is None else Continued(limits, earlier),
        needs_cost=needs_cost(settings),
        score_cut=settings.cut_answers == "score",
    )


def limits_of(settings: Settings) -> StopRule:
    """The limits of a session."""
    return budget(
        rollouts=settings.max_rollouts,
        tokens=settings.max_tokens,
        usd=settings.budget_usd,
        seconds=settings.max_seconds,
    )


def make_engine(job: ValuationJob, agent: Agent, verifier: Verifier, listener: Listener) -> Engine:
    """The engine that the settings name. On a cluster each node makes agent and verifier from the job."""
    if job.settings.engine == "local":
        return LocalEngine(agent, verifier)
    _require_ray()
    return _ray_engine(job.settings, {agent.fingerprint: job}, listener)


def make_cluster_engine(prepared: Sequence[PreparedRun], listener: Listener) -> Engine:
    """One engine for several agents on the cluster that their settings name. Each node makes all of them."""
    _require_ray()
    jobs = {run.agent.fingerprint: run.job for run in prepared}
    return _ray_engine(prepared[0].job.settings, jobs, listener)


def _ray_engine(settings: Settings, jobs: Mapping[str, ValuationJob], listener: Listener) -> Engine:
    """The engine of a cluster for these jobs, by the fingerprint of their agents."""
    from skillsv.rollout.ray.engine import RayEngine

    recipes = {name: partial(make_on_node, portable_job(job), Path.cwd()) for name, job in jobs.items()}
    fingerprint, recipe = next(iter(recipes.items()))
    del recipes[fingerprint]
    options = cluster_options(settings)
    return RayEngine(recipe, fingerprint, options, others=recipes, note=lambda message: listener(Note(message=message)))


def _require_ray() -> None:
    if find_spec("ray") is None:
        raise SettingsError(
            "Running on a cluster needs the package ray.", hint="Install it: pip install 'skillsv[ray]'."
        )


def cluster_options(settings: Settings) -> ClusterOptions:
    """The part of the settings that the cluster reads. A cluster that is started here has one node, for all jobs."""
    _, _, address = settings.engine.partition(":")
    slots = settings.slots_per_node
    return ClusterOptions(
        address=address or LOCAL,
        slots_per_node=slots if address else slots or settings.jobs,
        resources=settings.node_resources,
        forward_env=settings.forward_env,
        jobs=settings.jobs,
    )


def portable_job(job: ValuationJob) -> ValuationJob:
    """The job as it is sent to nodes: with absolute paths, and without tasks (each is sent with its rollout)."""
    settings = job.settings
    return replace(
        job,
        skill=None if job.skill is None else job.skill.absolute(),
        tasks=None if job.tasks is None else job.tasks.absolute(),
        folder=job.folder.absolute(),
        settings=replace(settings, prices=_absolute(settings.prices), inspect_logs=_absolute(settings.inspect_logs)),
        task_source=replace(job.task_source, load_tasks=no_tasks),
    )


def _absolute(path: str | None) -> str | None:
    return None if path is None else str(Path(path).absolute())


def no_tasks(path: Path, grading: Grading) -> Sequence[Task]:
    """The tasks of a job that is sent to a node: none."""
    del path, grading
    return ()


def make_on_node(job: ValuationJob, folder: Path) -> tuple[Agent, Verifier]:
    """Make agent and verifier on a node. The node works in the same folder as the driver, if it has that folder."""
    with contextlib.suppress(OSError):
        os.chdir(folder)
    grading = grading_of(job)
    try:
        agent = make_client(job.task_source.make_agent, job.agent, job.settings, job.folder)
        load_code(agent)
        return agent, job.task_source.make_verifier(job.tasks_path, (), grading)
    except SettingsError as error:
        hint = "On a node only the variables in --forward-env are set, and files must have the same paths as here."
        raise SettingsError(error.what, where=error.where, hint=hint) from error
