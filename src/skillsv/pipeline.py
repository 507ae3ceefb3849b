"""From a skill folder to an answer, top to bottom like the paper's figure. The only place where stages meet.

prepare    compile the skill, read the tasks, draw orders and windows, forecast the cost     free
roll_out   render partial skills, run the agent, keep every rollout in the ledger            spends
appraise   values, intervals, verdicts from the records                                      free
publish    valuation.json and report.html in the run folder                                  free
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import numpy as np

from skillsv import __version__
from skillsv.agents import AgentOptions, make_agent
from skillsv.compile import CompileOptions, compile_skill
from skillsv.decide import Goal, how_far, pruning_path, removable, verdicts
from skillsv.errors import BudgetReached, Interrupted, RecordsError, SkillSVError, Unavailable
from skillsv.estimate import EstimateOptions, estimate_chains
from skillsv.model.chain import ChainPlan, ChainRecord
from skillsv.model.coalition import Coalition, Operator, Rendering
from skillsv.model.edit import PruneStep
from skillsv.model.events import Note, RunFinished, RunStarted
from skillsv.model.protocols import Agent, Listener, Verifier
from skillsv.model.rollout import Usage
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import PanelA, PanelB
from skillsv.model.value import Action, Estimate, Spending, UnitReport, Valuation
from skillsv.order import Sampler
from skillsv.render import Renderer, token_counter
from skillsv.report import page, valuation_dict
from skillsv.rollout import (
    Forecast,
    Ledger,
    LocalEngine,
    RunFolder,
    Runner,
    RunnerOptions,
    Stop,
    budget,
    chain_walk,
    check_activation,
    check_noise,
    forecast,
    stop_on_signals,
    with_replicates,
)
from skillsv.rollout.forecast import GAMMA_EXPECTED, GAMMA_HIGH, GAMMA_LOW
from skillsv.settings import RESULT_SETTINGS, Settings, settings_dict, settings_from
from skillsv.tasks import draw_window, load_tasks, make_verifier, split_panels

NO_TRUNCATION = (1.0, 1.0, 1.0)
USUAL_GAMMAS = (GAMMA_LOW, GAMMA_EXPECTED, GAMMA_HIGH)
NOISE_TASKS = 3
REMOVABLE = frozenset({Action.DELETE, Action.HARMFUL})
ORDER_STREAM, WINDOW_STREAM = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the user asked for: this skill, these tasks, this agent. `folder` is where relative names start."""

    skill: Path
    tasks: Path
    agent: str
    settings: Settings
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Everything that is known before a single rollout is paid for."""

    job: Job
    compiled: CompiledSkill
    panel_a: PanelA
    panel_b: PanelB
    agent: Agent
    verifier: Verifier
    plans: tuple[ChainPlan, ...]
    forecast: Forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """What the rollouts gave. `trouble` is why they ended early, None if they did not."""

    records: tuple[ChainRecord, ...]
    spending: Spending
    usage: Usage
    notes: tuple[str, ...] = ()
    trouble: SkillSVError | None = None


# ---- prepare: nothing is spent ----


def prepare(job: Job) -> Prepared:
    """Compile, read the tasks, draw the chains, forecast. Nothing is run and nothing is written."""
    settings = job.settings
    compiled = compile_skill(job.skill, compile_options(settings))
    tasks = load_tasks(job.tasks, verifier=settings.verifier)
    panel_a, panel_b = split_panels(tasks, a=settings.panel_a, b=settings.panel_b, seed=settings.seed)
    agent = make_agent(job.agent, agent_options(job))
    verifier = make_verifier(tasks, folder=job.tasks.parent, default=settings.verifier, judge=judge_maker(job))
    return Prepared(
        job=job,
        compiled=compiled,
        panel_a=panel_a,
        panel_b=panel_b,
        agent=agent,
        verifier=verifier,
        plans=plan_chains(compiled, panel_a, settings),
        forecast=forecast_of(compiled, settings),
    )


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


def forecast_of(compiled: CompiledSkill, settings: Settings) -> Forecast:
    """The cost of these settings, as far as it is known."""
    return forecast(
        len(compiled.units),
        settings.window,
        settings.orders,
        settings.operators,
        gammas=NO_TRUNCATION if settings.tolerance is None else USUAL_GAMMAS,
        jobs=settings.jobs,
    )


def compile_options(settings: Settings) -> CompileOptions:
    """The compiler's part of the settings."""
    standard = CompileOptions()
    return CompileOptions(
        granularity=settings.granularity,
        regions=settings.regions,
        without=frozenset(rule.upper() for rule in settings.without),
        include=settings.include,
        exclude=settings.exclude,
        markers=settings.markers or standard.markers,
    )


def judge_maker(job: Job) -> Callable[[str], Agent] | None:
    """What makes the agent that grades prose: the one a task names, or the one of the settings."""
    standard = job.settings.judge
    if standard is None:
        return None
    return lambda named: make_agent(named or standard, agent_options(job))


def agent_options(job: Job) -> AgentOptions:
    """The agent's part of the settings."""
    settings = job.settings
    return AgentOptions(
        timeout=settings.timeout,
        skill_dir=settings.skill_dir,
        forward_env=settings.forward_env,
        hide_target=settings.hide_target,
        folder=job.folder,
    )


# ---- roll out: the only stage that spends ----


async def roll_out(
    prepared: Prepared, folder: RunFolder, listener: Listener, stop: Stop, *, fresh: bool = False
) -> Rolled:
    """Run all chains, or as many as the budget allows. What finished is kept, whatever happens."""
    expected = prepared.forecast.expected.rollouts
    listener(RunStarted(run=folder.path.name, chains=len(prepared.plans), expected_rollouts=expected))
    if fresh:
        folder.start_fresh()
    async with AsyncExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(folder.ledger))
        folder.begin(manifest(prepared), prepared.compiled.skill)
        engine = await stack.enter_async_context(LocalEngine(prepared.agent, prepared.verifier))
        signals = await stack.enter_async_context(anyio.create_task_group())
        signals.start_soon(stop_on_signals, stop)
        options = runner_options(prepared.job.settings, folder.run_id)
        render = make_renderer(prepared.compiled, prepared.job.settings).render
        tasks = {task.id: task for task in prepared.panel_a.tasks}
        runner = Runner(engine, ledger, render, tasks, prepared.agent.fingerprint, options, listener, stop=stop)
        rolled = await run_chains(prepared, runner, folder, listener)
        signals.cancel_scope.cancel()
    listener(RunFinished(reason="done" if rolled.trouble is None else rolled.trouble.what))
    return rolled


def runner_options(settings: Settings, run: str) -> RunnerOptions:
    """The runner's part of the settings."""
    return RunnerOptions(
        jobs=settings.jobs,
        attempts=settings.attempts,
        timeout=settings.timeout,
        max_missing=settings.max_missing,
        seed=settings.seed,
        run=run,
        budget=budget(
            rollouts=settings.max_rollouts,
            tokens=settings.max_tokens,
            usd=settings.budget_usd,
            seconds=settings.max_seconds,
        ),
    )


async def run_chains(prepared: Prepared, runner: Runner, folder: RunFolder, listener: Listener) -> Rolled:
    """Checks first, then every chain. An end before the end keeps the chains that finished."""
    notes: list[str] = []
    records: dict[int, ChainRecord] = {}

    def keep(_: int, record: ChainRecord) -> None:
        records[record.plan.index] = record
        folder.append(record)

    trouble: SkillSVError | None = None
    try:
        plans = await check_first(prepared, runner, notes, listener)
        walks = (
            chain_walk(plan, prepared.compiled.trigger, speculate=prepared.job.settings.speculate, tree_of=runner.tree)
            for plan in plans
        )
        await runner.run_policies(walks, on_result=keep)
    except (BudgetReached, Interrupted, Unavailable) as early:
        trouble = early
    finished = tuple(records[index] for index in sorted(records))
    spending = replace(runner.spending, forecast=prepared.forecast.expected.rollouts)
    return Rolled(records=finished, spending=spending, usage=runner.usage, notes=tuple(notes), trouble=trouble)


async def check_first(prepared: Prepared, runner: Runner, notes: list[str], listener: Listener) -> Sequence[ChainPlan]:
    """Does the skill change anything, and does the agent repeat itself? Says so before the budget is spent."""
    everything: Coalition = prepared.compiled.everything
    window = prepared.plans[0].window.tasks
    same = runner.tree(frozenset(), Operator.DELETE) == runner.tree(everything, Operator.DELETE)
    (activation,) = await runner.run_policies([check_activation(window, everything, same_tree=same)])
    (noise,) = await runner.run_policies([check_noise(window[:NOISE_TASKS], everything)])
    for sentence in (activation.sentence(), noise.sentence()):
        if sentence:
            notes.append(sentence)
            listener(Note(message=sentence))
    return with_replicates(prepared.plans, noise)


def manifest(prepared: Prepared) -> Mapping[str, Any]:
    """What makes this run this run: the same one resumes, another starts anew and still reuses the ledger."""
    skill = prepared.compiled.skill
    table = settings_dict(prepared.job.settings)
    return {
        "schema": "skillsv.run/1",
        "skill": {"name": skill.name, "main": skill.main, "single_file": skill.single_file},
        "digest": prepared.compiled.digest,
        "agent": {"spec": prepared.job.agent, "fingerprint": prepared.agent.fingerprint},
        "settings": {name: table[name] for name in RESULT_SETTINGS},
        "panel_a": {task.id: task.digest for task in prepared.panel_a.tasks},
        "panel_b": {task.id: task.digest for task in prepared.panel_b.tasks},
        "chains": len(prepared.plans),
        "version": __version__,
        "about": {
            "skill": str(prepared.job.skill.absolute()),
            "tasks": str(prepared.job.tasks.absolute()),
            "folder": str(prepared.job.folder.absolute()),
            "forecast": prepared.forecast.expected.rollouts,
            "settings": {name: value for name, value in table.items() if name not in RESULT_SETTINGS},
        },
    }


# ---- appraise: a pure function of the records ----


def appraise(compiled: CompiledSkill, settings: Settings, agent: str, rolled: Rolled) -> Valuation:
    """The answer: what the records say, with names, tokens and verdicts beside it."""
    renderer = make_renderer(compiled, settings)
    options = EstimateOptions(
        level=settings.level,
        seed=settings.seed,
        resolution=settings.resolution,
        identical=units_without_bytes(compiled),
    )
    estimate = estimate_chains(compiled, rolled.records, options)
    tokens = {unit.id: renderer.tokens_of(unit.id) for unit in compiled.units}
    return Valuation(
        skill=skill_summary(compiled, renderer),
        settings={**settings_dict(settings), "agent": agent},
        estimate=estimate,
        units=unit_reports(compiled, estimate, tokens),
        rollouts=rolled.spending,
        usage=rolled.usage,
        provisional=rolled.trouble is not None,
        notes=(*rolled.notes, *estimate.notes, *early_end(rolled)),
    )


def units_without_bytes(compiled: CompiledSkill) -> frozenset[str]:
    """Units that add no byte to any rendering: zero by construction."""
    return frozenset(unit.id for unit in compiled.units if not any(len(extent.span) for extent in unit.extents))


def skill_summary(compiled: CompiledSkill, renderer: Renderer) -> Mapping[str, Any]:
    """What the skill is, in a few figures."""
    return {
        "name": compiled.skill.name,
        "digest": compiled.digest,
        "main": compiled.skill.main,
        "units": len(compiled.units),
        "execution_units": len(compiled.execution),
        "edges": len(compiled.edges),
        "tokens": renderer.total_tokens,
        "files": len(compiled.skill.files),
    }


def unit_reports(compiled: CompiledSkill, estimate: Estimate, tokens: Mapping[str, int]) -> tuple[UnitReport, ...]:
    """One row per execution unit, in document order."""
    values = {value.id: value for value in estimate.units}
    decided = {verdict.unit: verdict for verdict in verdicts(compiled, estimate, tokens)}
    return tuple(
        UnitReport(
            id=unit.id,
            kind=unit.kind,
            form=unit.form,
            file=unit.file,
            span=unit.span,
            lines=unit.lines,
            section=unit.section,
            tokens=tokens[unit.id],
            needs=compiled.needs[unit.id],
            text=text_of(compiled, unit.id),
            value=values[unit.id],
            verdict=decided[unit.id],
        )
        for unit in compiled.units
        if unit.id in values
    )


def text_of(compiled: CompiledSkill, unit_id: str) -> str:
    """The unit's own words; nothing for what is not text."""
    parts = []
    for extent in compiled.unit[unit_id].extents:
        data = compiled.skill.file(extent.file).data or b""
        parts.append(data[extent.span.start : extent.span.end].decode("utf-8", errors="replace"))
    return "\n".join(parts)


def early_end(rolled: Rolled) -> tuple[str, ...]:
    """A sentence about a run that stopped before its end."""
    if rolled.trouble is None:
        return ()
    return (f"This is a partial result of {len(rolled.records)} finished chains: {rolled.trouble.what}",)


# ---- publish, and read again ----


def publish(folder: RunFolder, run: Run) -> Path:
    """Write the answer and its page into the run folder; returns the page's path."""
    text = json.dumps(valuation_dict(run.valuation), indent=2, ensure_ascii=False)
    folder.write(folder.valuation.name, text.encode("utf-8", errors="surrogateescape"))
    html = page(run.valuation, run.compiled, run.records)
    return folder.write(folder.report.name, html.encode("utf-8", errors="replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as its folder tells it, finished or not: everything that estimating and drawing again need."""

    compiled: CompiledSkill
    settings: Settings
    records: tuple[ChainRecord, ...]
    valuation: Valuation


def load_run(path: Path, changes: Mapping[str, Any] | None = None) -> Run:
    """Read a run folder and estimate from its records. `changes` are settings of the estimate, such as the level."""
    folder = RunFolder(path)
    found = folder.manifest()
    if found is None:
        raise RecordsError("there is no run in this folder.", where=str(path), hint="Begin one with 'skillsv value'.")
    settings = settings_from({**found["settings"], **found["about"]["settings"], **(changes or {})})
    compiled = snapshot(folder, found["skill"], settings)
    records = tuple(folder.chains().values())
    rolled = Rolled(records=records, spending=spending_of(folder, found), usage=folder.status().usage)
    valuation = appraise(compiled, settings, found["agent"]["spec"], rolled)
    valuation = replace(valuation, provisional=len(records) < found["chains"])
    return Run(compiled=compiled, settings=settings, records=records, valuation=valuation)


def snapshot(folder: RunFolder, described: Mapping[str, Any], settings: Settings) -> CompiledSkill:
    """The skill as it was valued, compiled from the copy in the run folder."""
    place = folder.skill / described["main"] if described["single_file"] else folder.skill
    compiled = compile_skill(place, compile_options(settings))
    return replace(compiled, skill=replace(compiled.skill, name=described["name"]))


def spending_of(folder: RunFolder, found: Mapping[str, Any]) -> Spending:
    """What the run has spent so far, all sessions together."""
    status = folder.status()
    announced = found["about"]["forecast"]
    return Spending(spent=status.rollouts, reused=status.reused, failed=status.missing, forecast=announced)


# ---- edit: a shorter skill, from the values ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """A shorter skill: what goes, step by step, and both versions as files."""

    steps: tuple[PruneStep, ...]
    before: Rendering
    after: Rendering
    tokens_before: int
    tokens_after: int

    @property
    def removed(self) -> tuple[str, ...]:
        """All units that go."""
        return tuple(unit for step in self.steps for unit in step.removed)


def prune(run: Run, goal: Goal | None, actions: frozenset[Action] = REMOVABLE) -> Pruned:
    """Shorten the skill of a run: as far as the goal asks, or by the verdicts in `actions` where there is none."""
    renderer = make_renderer(run.compiled, run.settings)
    values = {unit.id: unit.value.net.value for unit in run.valuation.units}
    among = None
    if goal is None:
        among = removable(run.compiled, (unit.verdict for unit in run.valuation.units), actions)
    path = pruning_path(run.compiled, values, lambda kept: tokens_of_kept(renderer, kept), among)
    steps = path if goal is None else path[: how_far(path, goal)]
    everything = run.compiled.everything
    after = renderer.render(steps[-1].kept if steps else everything, Operator.DELETE)
    return Pruned(
        steps=steps,
        before=renderer.render(everything, Operator.DELETE),
        after=after,
        tokens_before=renderer.total_tokens,
        tokens_after=renderer.count_tokens(after),
    )


def original_of(folder: Path, run: Run, *, check: bool = True) -> Path:
    """Where the skill of a run was read from; with `check`, refused where it has changed since."""
    found = RunFolder(folder).manifest() or {}
    place = Path(found["about"]["skill"])
    if check:
        now = compile_skill(place, compile_options(run.settings))
        if now.digest != run.compiled.digest:
            raise RecordsError(
                "the skill has changed since it was valued.",
                where=str(place),
                hint="Write to another folder with -o, or value it again.",
            )
    return place


def tokens_of_kept(renderer: Renderer, kept: Coalition) -> int:
    """The tokens of what a coalition renders to by deletion."""
    return renderer.count_tokens(renderer.render(kept, Operator.DELETE))


def make_renderer(compiled: CompiledSkill, settings: Settings) -> Renderer:
    """The renderer for these settings."""
    return Renderer(compiled, counter=token_counter(settings.tokenizer), filler=settings.filler)
