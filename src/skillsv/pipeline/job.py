"""What is known before anything is spent: the compiled skill, the panels, the chains, the forecast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np

from skillsv.agents import AgentOptions, make_agent
from skillsv.compile import compile_skill
from skillsv.errors import RecordsError, SettingsError
from skillsv.model.coalition import ChainPlan
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import PanelA, PanelB, Task
from skillsv.order import Sampler
from skillsv.pipeline.clients import make_client
from skillsv.render import Renderer, token_counter
from skillsv.rollout import Forecast, PerRollout, forecast
from skillsv.rollout.adaptive import forecast_adaptive
from skillsv.rollout.forecast import GAMMA_EXPECTED, GAMMA_HIGH, GAMMA_LOW, cost_of
from skillsv.settings import Settings, compile_options
from skillsv.tasks import draw_window, load_tasks, make_verifier, split_panels, tasks_folder

# Where the tasks, the agent and the verifier of a run come from: the user's own files, or a published benchmark.
# A run records the name of its kit, so that a later command on it finds the same tasks and makes the same agent.


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """How tasks that do not say it themselves are graded: by this verifier, or by this judge."""

    verifier: str | None = None
    judge: str | None = None
    make_judge: Callable[[str], Agent] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSource:
    """Three functions that every run needs. `name` is empty for the user's own tasks; `variant` is the kit's own.

    All three can be sent to another machine: they are functions of modules, or partial applications of such.
    """

    name: str = ""
    variant: str = ""
    load_tasks: Callable[[Path, Grading], Sequence[Task]]
    make_agent: Callable[[str, AgentOptions], Agent]
    make_verifier: Callable[[Path, Sequence[Task], Grading], Verifier]


def _own_tasks(path: Path, grading: Grading) -> Sequence[Task]:
    return load_tasks(path, verifier=grading.verifier, judge=grading.judge)


def _own_verifier(path: Path, tasks: Sequence[Task], grading: Grading) -> Verifier:
    return make_verifier(tasks, folder=tasks_folder(path), default=grading.verifier, judge=grading.make_judge)


OWN_FILES = TaskSource(load_tasks=_own_tasks, make_agent=make_agent, make_verifier=_own_verifier)
"""Tasks from files, agents by their specification, the verifiers that the tasks name."""


def find_task_source(name: str, variant: str) -> TaskSource:
    """The task source that a run recorded: the user's own files, or one that an installed package provides."""
    if not name:
        return OWN_FILES
    for point in entry_points(group=TASK_SOURCES):
        source: TaskSource | None = point.load()(name, variant)
        if source is not None:
            return source
    raise RecordsError(f"the tasks of this run come from `{name}`, which is not installed here.")


TASK_SOURCES = "skillsv.task_sources"
"""Entry points of packages that provide task sources: functions of a name and a variant, or None where unknown."""

NO_TRUNCATION = (1.0, 1.0, 1.0)
USUAL_GAMMAS = (GAMMA_LOW, GAMMA_EXPECTED, GAMMA_HIGH)
ORDER_STREAM, WINDOW_STREAM = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuationJob:
    """What the user asked for: this skill, these tasks, this agent. `folder` is where relative names start."""

    skill: Path
    tasks: Path
    agent: str
    settings: Settings
    folder: Path
    task_source: TaskSource = OWN_FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """Everything that is known before a single rollout is paid for. The adaptive method has no `plans`: it looks."""

    job: ValuationJob
    compiled: CompiledSkill
    panel_a: PanelA
    panel_b: PanelB
    agent: Agent
    verifier: Verifier
    first_window: tuple[str, ...]
    plans: tuple[ChainPlan, ...]
    forecast: Forecast


def prepare(job: ValuationJob) -> PreparedRun:
    """Compile, read the tasks, draw the chains, forecast. Nothing is run and nothing is written."""
    settings = job.settings
    compiled = compile_skill(job.skill, compile_options(settings))
    tasks = job.task_source.load_tasks(job.tasks, grading_of(job))
    panel_a, panel_b = split_panels(tasks, a=settings.panel_a, b=settings.panel_b, seed=settings.seed)
    return PreparedRun(
        job=job,
        compiled=compiled,
        panel_a=panel_a,
        panel_b=panel_b,
        agent=make_client(job.task_source.make_agent, job.agent, job.settings, job.folder),
        verifier=job.task_source.make_verifier(job.tasks, tasks, grading_of(job)),
        first_window=first_window(panel_a, settings),
        plans=plan_chains(compiled, panel_a, settings) if settings.method == "chain" else (),
        forecast=forecast_of(compiled, settings, len(panel_a.tasks)),
    )


def first_window(panel: PanelA, settings: Settings) -> tuple[str, ...]:
    """The tasks of the first chain: what the checks before a run look at, so that the run reuses them."""
    size = settings.window if settings.method == "chain" else min(settings.window, len(panel.tasks))
    return draw_window(panel, size, np.random.default_rng([settings.seed, 0, WINDOW_STREAM])).tasks


def plan_chains(compiled: CompiledSkill, panel: PanelA, settings: Settings) -> tuple[ChainPlan, ...]:
    """K orders with a window each. Each chain has its own streams, so more orders leave the first ones as they are."""
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


def forecast_of(
    compiled: CompiledSkill, settings: Settings, tasks: int, per_rollout: PerRollout | None = None
) -> Forecast:
    """The cost of these settings on a panel of so many tasks, as far as it is known."""
    if settings.method == "auto":
        operators, most = len(settings.operators), settings.max_rollouts
        usual = forecast_adaptive(tasks, budget=most, operators=operators, per_rollout=per_rollout, jobs=settings.jobs)
        return at_most(usual, all_there_is(compiled, tasks, operators), per_rollout, settings.jobs)
    return forecast(
        len(compiled.units),
        settings.window,
        settings.orders,
        settings.operators,
        gammas=NO_TRUNCATION if settings.tolerance is None else USUAL_GAMMAS,
        per_rollout=per_rollout,
        jobs=settings.jobs,
    )


def all_there_is(compiled: CompiledSkill, tasks: int, operators: int) -> int:
    """Rollouts that would answer everything about a small skill and an agent that repeats itself, checks included."""
    coalitions: int = 2 ** min(len(compiled.execution), 40)
    return tasks * (2 + operators * coalitions)


def at_most(usual: Forecast, everything: int, per_rollout: PerRollout | None, jobs: int) -> Forecast:
    """A small skill costs no more than all there is to ask; a noisy agent may still take the high figure."""
    if everything >= usual.expected.rollouts:
        return usual
    whole = cost_of(everything, per_rollout or PerRollout(), jobs=jobs)
    return replace(usual, low=whole, expected=whole)


def grading_of(job: ValuationJob) -> Grading:
    """How tasks that name no verifier or judge of their own are graded."""
    return Grading(verifier=job.settings.verifier, judge=job.settings.judge, make_judge=judge_maker(job))


def judge_maker(job: ValuationJob) -> Callable[[str], Agent]:
    """What makes the agent that grades prose: the one a task names, or the one of the settings."""

    def make_judge(named: str) -> Agent:
        spec = named or job.settings.judge
        if not spec:
            raise SettingsError("some tasks can only be graded by a judge.", hint="Name an agent with --judge.")
        return make_client(make_agent, spec, job.settings, job.folder)

    return make_judge


def make_renderer(compiled: CompiledSkill, settings: Settings) -> Renderer:
    """The renderer for these settings."""
    return Renderer(compiled, counter=token_counter(settings.tokenizer), filler=settings.filler)
