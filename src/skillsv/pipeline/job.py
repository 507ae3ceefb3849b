"""What is known before anything is spent: the job, the compiled skill, the panels, the chains, the forecast."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np

from skillsv.agents import AgentOptions, make_agent
from skillsv.compiler import CompileOptions, compile_files, compile_skill
from skillsv.errors import RecordsError, SettingsError
from skillsv.model.coalition import AgentPrior, ChainPlan, KnownAnswers
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import PanelA, PanelB, Task
from skillsv.order import Sampler
from skillsv.pipeline.clients import make_client
from skillsv.rendering import Renderer, token_counter
from skillsv.rollout import Forecast, PerRollout, RunFolder, forecast, run_id
from skillsv.rollout.adaptive import forecast_adaptive
from skillsv.rollout.adaptive.repeat_sampler import REPEATED_SHARE
from skillsv.rollout.forecast import GAMMA_EXPECTED, GAMMA_HIGH, GAMMA_LOW, cost_of
from skillsv.settings import (
    EARLIER_BEHAVIOUR,
    SETTINGS,
    Settings,
    compile_options,
    identity_settings,
    run_settings,
)
from skillsv.tasks import (
    NO_PANELS,
    KnownPanels,
    cover_judges,
    draw_window,
    load_tasks,
    make_verifier,
    refuse_delivered_tasks,
    split_panels,
    tasks_folder,
)
from skillsv.version import __version__

TASK_SOURCES = "skillsv.task_sources"
"""Entry points of packages that provide task sources: functions of a name and a variant, or None where unknown."""

PYTHON = "python"
"""The name of the task source of runs whose agent or tasks a Python program passed as objects."""

TRIGGER = "trigger"
"""The name of the task source of trigger evaluations."""

EARLIER_UNITS = (
    "This run began with an earlier version of skillsv, and goes on with the units of that version; "
    "--fresh begins anew with today's."
)
"""What is said where a run keeps the units and dependencies that it began with."""

MANIFEST_SCHEMA = "skillsv.run/1"
"""The schema of a run's manifest."""

NO_TRUNCATION = (1.0, 1.0, 1.0)
"""Shares of a chain that run without a tolerance: all of it (low, expected and high forecast)."""

USUAL_GAMMAS = (GAMMA_LOW, GAMMA_EXPECTED, GAMMA_HIGH)
"""Shares of a chain that run with a tolerance (low, expected and high forecast)."""

ORDER_STREAM = 0
"""Random stream of the orders; each chain has one of its own."""

WINDOW_STREAM = 1
"""Random stream of the windows; each chain has one of its own."""

MOST_COUNTED_UNITS = 40
"""Units above which the number of coalitions is not counted exactly: no forecast is that large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """How tasks are graded that name no verifier: by this verifier, or by this judge.

    `sandbox` and `network` say how the programs run that tasks bring, `sandbox_commands` whether `command:` verifiers
    are sandboxed, too, and `container` is the container program that is the sandbox (empty: bubblewrap).
    """

    verifier: str | None = None
    judge: str | None = None
    make_judge: Callable[[str], Agent] | None = None
    sandbox: bool = True
    sandbox_commands: bool = False
    container: str = ""
    network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSource:
    """Where the tasks, the agent and the verifier of a run come from: the user's files, or a published benchmark.

    A run records `name` (empty for the user's own files) and `variant` (used by the source), so that a later command
    finds the same tasks and makes the same agent. The three functions can be sent to another machine: they are
    functions of modules, or partial applications of such.
    """

    name: str = ""
    variant: str = ""
    load_tasks: Callable[[Path, Grading], Sequence[Task]]
    make_agent: Callable[[str, AgentOptions], Agent]
    make_verifier: Callable[[Path, Sequence[Task], Grading], Verifier]


def _load_own_tasks(path: Path, grading: Grading) -> Sequence[Task]:
    return load_tasks(path, verifier=grading.verifier, judge=grading.judge)


def _make_own_verifier(path: Path, tasks: Sequence[Task], grading: Grading) -> Verifier:
    return make_verifier(
        tasks,
        folder=tasks_folder(path),
        default=grading.verifier,
        judge=grading.make_judge,
        sandbox=grading.sandbox,
        sandbox_commands=grading.sandbox_commands,
        container=grading.container,
        network=grading.network,
    )


OWN_FILES = TaskSource(load_tasks=_load_own_tasks, make_agent=make_agent, make_verifier=_make_own_verifier)
"""Tasks from the user's files, agents by their specification, the verifiers that the tasks name."""


def find_task_source(name: str, variant: str) -> TaskSource:
    """The task source that a run recorded: the user's own files, or one that an installed package provides."""
    if not name:
        return OWN_FILES
    if name == PYTHON:
        raise RecordsError(
            "the agent or the tasks of this run are objects of a Python program.",
            hint="Use the Python API: skillsv.load_run(FOLDER, tasks=..., agent=...).",
        )
    if name == TRIGGER:
        raise RecordsError(
            "this run evaluated the description of a skill: there is no shorter skill to prove.",
            hint="Run 'skillsv trigger' again; 'skillsv report' shows its result.",
        )
    for point in entry_points(group=TASK_SOURCES):
        source: TaskSource | None = point.load()(name, variant)
        if source is not None:
            return source
    raise RecordsError(f"the tasks of this run come from `{name}`, which is not installed here.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuationJob:
    """What the user asked for: this skill, these tasks, this agent. Relative names start at `folder`.

    `skill` is the path it was read from, None for a text; `compiled` the skill itself, where it is compiled already.
    `tasks` is None where the task source holds them. Of `agents`, among whom the user's limits were divided, it is one.
    """

    skill: Path | None
    tasks: Path | None
    agent: str
    settings: Settings
    folder: Path
    task_source: TaskSource = OWN_FILES
    compiled: CompiledSkill | None = None
    agents: int = 1

    def __post_init__(self) -> None:
        if self.skill is None and self.compiled is None:
            raise ValueError("a job needs the path of a skill, or a compiled skill")

    @property
    def tasks_path(self) -> Path:
        """The path of the tasks, as a task source receives it."""
        return self.tasks or Path()

    def compile(self, **changes: Any) -> CompiledSkill:
        """The skill, compiled by the settings; with `changes` of the compiler's options, compiled anew."""
        if self.compiled is not None:
            return compile_files(self.compiled.skill, replace(self._options, **changes)) if changes else self.compiled
        assert self.skill is not None
        return compile_skill(self.skill, replace(self._options, **changes))

    @property
    def _options(self) -> CompileOptions:
        return compile_options(self.settings)


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """Everything that is known before the first rollout. The adaptive method has no `plans`: it plans as it runs."""

    job: ValuationJob
    compiled: CompiledSkill
    panel_a: PanelA
    panel_b: PanelB
    agent: Agent
    verifier: Verifier
    first_window: tuple[str, ...]
    plans: tuple[ChainPlan, ...]
    forecast: Forecast
    known: KnownAnswers = field(default_factory=KnownAnswers)
    """What an earlier version of the skill was scored on in this run folder, and holds for this version."""
    prior: AgentPrior = field(default_factory=AgentPrior)
    """What other agents of a matrix showed."""

    @cached_property
    def renderer(self) -> Renderer:
        """The renderer of this run. It is built on first use: a forecast needs none."""
        return make_renderer(self.compiled, self.job.settings)


def prepare(job: ValuationJob, known: KnownPanels = NO_PANELS) -> PreparedRun:
    """Compile the skill, read the tasks, draw the chains, forecast the cost. Runs nothing and writes nothing.

    `known` are the panels of earlier runs in the same folder.
    """
    settings = job.settings
    compiled = job.compile()
    tasks = load_job_tasks(job, compiled)
    panel_a, panel_b = split_panels(tasks, a=settings.panel_a, b=settings.panel_b, seed=settings.seed, known=known)
    return PreparedRun(
        job=job,
        compiled=compiled,
        panel_a=panel_a,
        panel_b=panel_b,
        agent=make_client(job.task_source.make_agent, job.agent, job.settings, job.folder),
        verifier=job.task_source.make_verifier(job.tasks_path, tasks, grading_of(job)),
        first_window=first_window(panel_a, settings),
        plans=plan_chains(compiled, panel_a, settings) if settings.method == "chain" else (),
        forecast=forecast_job(compiled, settings, len(panel_a.tasks)),
    )


def load_job_tasks(job: ValuationJob, *received: CompiledSkill) -> Sequence[Task]:
    """The tasks of the job. Their digests also cover the judges that grade them.

    Raises TaskError if one of the skills that agents receive holds the tasks, with their answers.
    """
    if job.tasks is not None:
        for compiled in received:
            refuse_delivered_tasks(compiled.skill, job.tasks)
    grading = grading_of(job)
    return cover_judges(job.task_source.load_tasks(job.tasks_path, grading), grading.make_judge)


def first_window(panel: PanelA, settings: Settings) -> tuple[str, ...]:
    """The tasks of the first chain. The checks before a run use them, so that the run reuses their rollouts."""
    size = settings.window if settings.method == "chain" else min(settings.window, len(panel.tasks))
    return draw_window(panel, size, np.random.default_rng([settings.seed, 0, WINDOW_STREAM])).tasks


def plan_chains(compiled: CompiledSkill, panel: PanelA, settings: Settings) -> tuple[ChainPlan, ...]:
    """K orders with a window each. Each chain has own random streams, so more orders leave the first ones unchanged."""
    sampler = Sampler(compiled)
    return tuple(
        ChainPlan(
            index=index,
            order=sampler.sample(np.random.default_rng([settings.seed, index, ORDER_STREAM])),
            window=draw_window(panel, settings.window, np.random.default_rng([settings.seed, index, WINDOW_STREAM])),
            operators=settings.operators,
            tolerance=settings.tolerance,
        )
        for index in range(settings.orders)
    )


def forecast_job(
    compiled: CompiledSkill,
    settings: Settings,
    tasks: int,
    per_rollout: PerRollout | None = None,
    gamma: float | None = None,
) -> Forecast:
    """The cost of these settings on a panel of so many tasks, as far as it is known.

    `gamma` is the share of prefixes that earlier chains evaluated; None: not measured.
    """
    if settings.method == "auto":
        operators, limit = len(settings.operators), settings.max_rollouts
        usual = forecast_adaptive(tasks, budget=limit, operators=operators, per_rollout=per_rollout, jobs=settings.jobs)
        return _lower_to(usual, _count_all_rollouts(compiled, tasks, operators), per_rollout, settings.jobs)
    return forecast(
        len(compiled.units),
        settings.window,
        settings.orders,
        settings.operators,
        tasks=tasks,
        noise_check=True,
        gammas=_gammas(settings, gamma),
        per_rollout=per_rollout,
        jobs=settings.jobs,
    )


def _gammas(settings: Settings, measured: float | None) -> tuple[float, float, float]:
    """The shares of a chain that run, for the low, expected and high forecast."""
    if settings.tolerance is None:
        return NO_TRUNCATION
    return USUAL_GAMMAS if measured is None else (min(GAMMA_LOW, measured), measured, GAMMA_HIGH)


def _count_all_rollouts(compiled: CompiledSkill, tasks: int, operators: int) -> int:
    """The rollouts of all coalitions of a deterministic agent, with the checks, null changes and random repeats."""
    coalitions: int = 2 ** min(len(compiled.execution), MOST_COUNTED_UNITS)
    return tasks * 4 + math.ceil(tasks * operators * coalitions * (1.0 + REPEATED_SHARE))


def _lower_to(usual: Forecast, rollouts: int, per_rollout: PerRollout | None, jobs: int) -> Forecast:
    """The forecast of a small skill: at most so many rollouts. A noisy agent may still need the high forecast."""
    if rollouts >= usual.expected.rollouts:
        return usual
    cost = cost_of(rollouts, per_rollout or PerRollout(), jobs=jobs)
    return replace(usual, low=cost, expected=cost)


def grading_of(job: ValuationJob) -> Grading:
    """How tasks that name no verifier or judge of their own are graded."""
    return Grading(
        verifier=job.settings.verifier,
        judge=job.settings.judge,
        make_judge=_judge_maker(job),
        sandbox=job.settings.sandboxed,
        sandbox_commands=job.settings.sandbox_agent,
        container=job.settings.container,
        network=job.settings.verifier_network,
    )


def _judge_maker(job: ValuationJob) -> Callable[[str], Agent]:
    """The function that makes the agent that grades prose: the one a task names, or the one of the settings."""
    settings = replace(job.settings, agent_version=None, depends_on=())  # these two are about the agent

    def make_judge(named: str) -> Agent:
        spec = named or job.settings.judge
        if not spec:
            raise SettingsError("some tasks can only be graded by a judge.", hint="Name an agent with --judge.")
        return make_client(make_agent, spec, settings, job.folder)

    return make_judge


def make_renderer(compiled: CompiledSkill, settings: Settings) -> Renderer:
    """The renderer for these settings. `PreparedRun` and `Run` hold the one of a run."""
    return Renderer(compiled, counter=token_counter(settings.tokenizer), filler=settings.filler)


def job_of_earlier_version(prepared: PreparedRun, folder: RunFolder) -> ValuationJob | None:
    """The job with the compiler of an earlier version, where the folder holds its run of this very skill; else None.

    Its manifest lacks the compiler's settings of today. A run goes on with the units that it began with.
    """
    manifest = folder.manifest() or {}
    recorded = {**manifest.get("settings", {}), **manifest.get("about", {}).get("settings", {})}
    job = prepared.job
    later = {
        name: value
        for name, value in EARLIER_BEHAVIOUR.items()
        if SETTINGS[name].group == "compiler" and name not in recorded
    }
    usual = all(getattr(job.settings, name) == SETTINGS[name].default for name in later)
    if not recorded or not later or not usual or manifest.get("digest") == prepared.compiled.digest:
        return None
    settings = replace(job.settings, **later)
    compiled = compile_files(prepared.compiled.skill, compile_options(settings))
    return replace(job, settings=settings, compiled=compiled) if compiled.digest == manifest.get("digest") else None


def with_recorded_prior(prepared: PreparedRun, folder: RunFolder) -> PreparedRun:
    """The run with what other agents had shown when it began; unchanged where it is not the one in the folder."""
    if folder.run_id != run_id(make_manifest(prepared)):
        return prepared
    return replace(prepared, prior=folder.prior())


def make_manifest(prepared: PreparedRun, *, rounds: Mapping[str, int] | None = None) -> Mapping[str, Any]:
    """What identifies this run: the same one resumes; another starts anew and still reuses the ledger.

    `rounds` (round size and searches) is recorded beside it: a resumed run keeps its path, whatever its jobs are.
    """
    skill = prepared.compiled.skill
    table = run_settings(prepared.job.settings)
    identity = identity_settings(table)
    return {
        "schema": MANIFEST_SCHEMA,
        "skill": {"name": skill.name, "main": skill.main, "single_file": skill.single_file},
        "digest": prepared.compiled.digest,
        "agent": {"spec": prepared.job.agent, "fingerprint": prepared.agent.fingerprint},
        "settings": identity,
        "panel_a": {task.id: task.digest for task in prepared.panel_a.tasks},
        "panel_b": {task.id: task.digest for task in prepared.panel_b.tasks},
        "version": __version__,
        "about": {
            "skill": _absolute(prepared.job.skill),
            "tasks": _absolute(prepared.job.tasks),
            "folder": str(prepared.job.folder.absolute()),
            "kit": prepared.job.task_source.name,
            "variant": prepared.job.task_source.variant,
            "forecast": prepared.forecast.expected.rollouts,
            "strata": strata_of(prepared.panel_a.tasks),
            "settings": {name: value for name, value in table.items() if name not in identity},
            **(rounds or {}),
        },
    }


def strata_of(tasks: Iterable[Task]) -> dict[str, str]:
    """The stratum of each task that has one."""
    return {task.id: task.stratum for task in tasks if task.stratum}


def _absolute(path: Path | None) -> str:
    return "" if path is None else str(path.absolute())
