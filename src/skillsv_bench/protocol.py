"""The paper's protocol on one benchmark: settings, forecast, and the steps in their order.

value       estimate the values on panel A
leave out   run Closure-LOO on panel A; the judge and the random ranking cost little or nothing
confirm     score anchors and pruning curves of all methods on panel B
refine      with an editor: rewrite the skill once, and compare old and new on panel B
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from skillsv.confirmation import Proof
from skillsv.errors import BudgetReached, SettingsError
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.events import Event, RolloutFinished
from skillsv.model.protocols import Listener
from skillsv.model.task import Task
from skillsv.model.value import Interval
from skillsv.pipeline import (
    ConfirmJob,
    PreparedRun,
    Run,
    RunOverrides,
    ValuationJob,
    build_valuation,
    confirm_versions,
    keep_proof,
    load_run,
    prepare_confirmation,
    publish,
    run_rollouts,
)
from skillsv.pipeline.confirm import rollouts_to_confirm
from skillsv.pipeline.job import Grading, TaskSource
from skillsv.pipeline.rankings import PAIR_AWARE, count_loo_tasks, leave_out
from skillsv.pipeline.run import reopen
from skillsv.rollout import Forecast, Ledger, RunFolder, Stop
from skillsv.rollout.forecast import Cost
from skillsv.settings import Settings, in_shares, refuse_chain_settings_with_auto, settings_from
from skillsv_bench.benchmark import Benchmark, LoadedTasks, Source
from skillsv_bench.refinement import RefinementResult, ValuedSkill, refine
from skillsv_bench.registry import encode_variant, find_source
from skillsv_bench.second_metric import MetricReader, SecondScore

OUTPUT_TOKENS = 16_384
"""The limit of tokens for one answer, which the benchmarks' published runs used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRun:
    """What to run: one skill and one agent on one benchmark, with settings."""

    benchmark: Benchmark
    source: Source
    loaded: LoadedTasks
    skill: Path
    agent: str
    settings: Settings = field(default_factory=Settings)
    checkpoints: int = 10
    editor: str | None = None

    @property
    def curves(self) -> tuple[str, ...]:
        """The methods compared: the paper's four, the judge only where there is one, and the pair-aware path."""
        return ("skillsv", "loo", *(("judge",) if self.settings.judge else ()), "random", PAIR_AWARE)

    @property
    def task_source(self) -> TaskSource:
        """The task source for the pipeline; it returns the tasks that are loaded already."""
        task_source = find_source(self.benchmark.name, encode_variant(self.source))
        assert task_source is not None, self.benchmark.name
        return replace(task_source, load_tasks=partial(_return_tasks, self.loaded.tasks))

    @property
    def job(self) -> ValuationJob:
        """The valuation on panel A."""
        return ValuationJob(
            skill=self.skill,
            tasks=self.source.data,
            agent=self.agent,
            settings=self.settings,
            folder=Path.cwd(),
            task_source=self.task_source,
        )

    def confirmation(self, run: Path, overrides: RunOverrides, skill: Path | None = None) -> ConfirmJob:
        """The job that scores on panel B: the pruning curves, or a rewritten `skill` against the old one."""
        curves = self.curves if skill is None else ()
        return ConfirmJob(
            run=run,
            overrides=overrides if curves else replace(overrides, judge=None),
            skill=skill,
            curves=curves,
            checkpoints=self.checkpoints,
            level=self.settings.level,
        )


def _return_tasks(tasks: Sequence[Task], data: Path, grading: Grading) -> Sequence[Task]:
    del data, grading
    return tasks


def paper_settings(benchmark: Benchmark, tasks: int, given: Mapping[str, Any]) -> tuple[Settings, tuple[str, ...]]:
    """Return the paper's settings with the given ones in place, and a note if there are too few tasks."""
    refuse_chain_settings_with_auto(given)
    paper = benchmark.paper
    panels, notes = _panel_sizes(benchmark, tasks) if not {"panel_a", "panel_b"} & given.keys() else ({}, ())
    settings = settings_from(
        {
            "method": "chain",
            "orders": 12,
            "window": 8,
            "tolerance": 0.05,
            "operators": list(paper.operators),
            "seed": 42,
            "turns": paper.turns,
            "max_output_tokens": OUTPUT_TOKENS,
            **panels,
            **in_shares(given),
        }
    )
    return settings, notes


def _panel_sizes(benchmark: Benchmark, tasks: int) -> tuple[Mapping[str, int], tuple[str, ...]]:
    a, b = benchmark.paper.panel_a, benchmark.paper.panel_b
    if tasks >= a + b:
        return {"panel_a": a, "panel_b": b}, ()
    if tasks < 2:
        raise SettingsError(f"{tasks} tasks cannot be split into two panels.", hint="Choose another --split.")
    fewer = max(1, tasks * a // (a + b))
    note = f"{tasks} tasks are too few for the paper's panels of {a} and {b}: they are {fewer} and {tasks - fewer}."
    return {"panel_a": fewer, "panel_b": tasks - fewer}, (note,)


def forecast_benchmark(benchmark_run: BenchmarkRun, prepared: PreparedRun) -> Forecast:
    """Forecast the whole protocol: the valuation, the baselines, and everything on panel B."""
    units, panel_b = len(prepared.compiled.execution), len(prepared.panel_b.tasks)
    valuation = prepared.forecast
    job = benchmark_run.confirmation(Path(), RunOverrides())

    def add_later_steps(cost: Cost, place: int) -> Cost:
        left_out_on = count_loo_tasks(len(prepared.panel_a.tasks), units, cost.rollouts)
        more = rollouts_to_confirm(units, panel_b, left_out_on, job)[place]
        more += panel_b if benchmark_run.editor else 0
        share = (cost.rollouts + more) / max(cost.rollouts, 1)
        return Cost(
            rollouts=cost.rollouts + more,
            tokens=None if cost.tokens is None else round(cost.tokens * share),
            usd=None if cost.usd is None else cost.usd * share,
            seconds=None if cost.seconds is None else cost.seconds * share,
        )

    return replace(
        valuation,
        low=add_later_steps(valuation.low, 0),
        expected=add_later_steps(valuation.expected, 0),
        high=add_later_steps(valuation.high, 1),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkResult:
    """The results of all steps of the protocol."""

    run: Run
    loo_total: Interval
    loo_tasks: int
    proof: Proof
    refined: RefinementResult | None = None
    second: tuple[SecondScore, ...] = ()


@dataclass(slots=True)
class SharedBudget:
    """Counts what one command spends over all steps, so that its limits apply to the protocol as a whole."""

    benchmark_run: BenchmarkRun
    listener: Listener
    rollouts: int = 0
    usd: float = 0.0

    def __call__(self, event: Event) -> None:
        """Count a new rollout, and pass the event on to the listener."""
        if isinstance(event, RolloutFinished) and not event.reused:
            self.rollouts += 1
            self.usd += event.usage.usd or 0.0
        self.listener(event)

    def make_overrides(self) -> RunOverrides:
        """Make the overrides of the next step: the same tasks, and what is left of the limits. Raises BudgetReached."""
        limits = self.benchmark_run.settings
        rollouts = None if limits.max_rollouts is None else limits.max_rollouts - self.rollouts
        usd = None if limits.budget_usd is None else limits.budget_usd - self.usd
        if (rollouts is not None and rollouts < 1) or (usd is not None and usd <= 0):
            raise BudgetReached(
                "the limit was reached before the protocol ended.",
                hint="Run the same command with a higher limit to go on.",
            )
        return RunOverrides(
            judge=limits.judge,
            jobs=limits.jobs,
            max_rollouts=rollouts,
            budget_usd=usd,
            task_source=self.benchmark_run.task_source,
        )


async def value_on_panel_a(
    benchmark_run: BenchmarkRun,
    prepared: PreparedRun,
    folder: RunFolder,
    listener: Listener,
    stop: Stop,
    *,
    keep_going: bool = False,
) -> Run:
    """Estimate the values on panel A. If the rollouts end early, publish what there is and raise the reason.

    The same command resumes from there.
    """
    rollout_result = await run_rollouts(prepared, folder, listener, stop, keep_going=keep_going)
    if rollout_result.error is not None:
        if not rollout_result.nothing:
            valuation = build_valuation(prepared.compiled, benchmark_run.settings, benchmark_run.agent, rollout_result)
            publish(folder, replace(load_run(folder.path), valuation=valuation))
        raise rollout_result.error
    return load_run(folder.path)


async def run_benchmark(
    benchmark_run: BenchmarkRun,
    prepared: PreparedRun,
    folder: RunFolder,
    listener: Listener,
    stop: Stop,
    *,
    keep_going: bool = False,
) -> BenchmarkResult:
    """Run the whole protocol. The ledger records every rollout, so that the same command resumes."""
    budget = SharedBudget(benchmark_run, listener)
    run = await value_on_panel_a(benchmark_run, prepared, folder, budget, stop, keep_going=keep_going)
    left_out = await leave_out(reopen(folder.path, budget.make_overrides()), budget, stop)
    held_out = prepare_confirmation(benchmark_run.confirmation(folder.path, budget.make_overrides()))
    proof = await confirm_versions(held_out, budget, stop)
    keep_proof(held_out, proof)
    publish(folder, run)
    valued = ValuedSkill(benchmark_run=benchmark_run, run=run, folder=folder, budget=budget, stop=stop)
    refined = await refine(valued) if benchmark_run.editor else None
    result = BenchmarkResult(run=run, loo_total=left_out.total, loo_tasks=left_out.tasks, proof=proof, refined=refined)
    return replace(result, second=_read_second_metric(benchmark_run, prepared, folder, held_out.new, result))


def _read_second_metric(
    benchmark_run: BenchmarkRun, prepared: PreparedRun, folder: RunFolder, pruned: Rendering, result: BenchmarkResult
) -> tuple[SecondScore, ...]:
    """The second metric of the anchors on both panels, and of the shorter skills on panel B; from the ledger alone."""
    metric, settings = benchmark_run.benchmark.second_metric, result.run.settings
    if metric is None:
        return ()
    compiled, render = result.run.compiled, result.run.renderer.render
    coalitions = {"empty": frozenset(), "trigger": frozenset({compiled.trigger}), "full": compiled.everything}
    anchors = {name: render(coalition, Operator.DELETE) for name, coalition in coalitions.items()}
    others = {"pruned": pruned, **({} if result.refined is None else {"refined": result.refined.rendering})}
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        reader = MetricReader(
            metric=metric,
            ledger=ledger,
            agent=result.run.manifest["agent"]["fingerprint"],
            level=settings.level,
            seed=settings.seed,
        )
        return (
            *reader.read_panel("a", prepared.panel_a.tasks, anchors, replicates=1),
            *reader.read_panel("b", prepared.panel_b.tasks, {**anchors, **others}, replicates=result.proof.replicates),
        )
