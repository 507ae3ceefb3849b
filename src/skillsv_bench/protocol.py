"""The paper's protocol on one benchmark: the forecast, and the steps in their order.

choose      with several skills: value the one with the highest score on the validation split
value       estimate the values on panel A
leave out   run Closure-LOO on panel A; the judge and the random ranking cost little or nothing
confirm     score anchors and pruning curves of all methods on panel B
refine      with an editor: rewrite the skill once, and compare old and new on panel B
select      with a validation split: choose a version of the skill on it, and score the chosen one on panel B
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from skillsv.confirmation import Proof
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.protocols import Listener
from skillsv.model.value import Interval, Ranking
from skillsv.pipeline import (
    PreparedRun,
    Run,
    RunOverrides,
    build_valuation,
    confirm_versions,
    keep_proof,
    load_run,
    prepare,
    prepare_confirmation,
    publish,
    run_rollouts,
)
from skillsv.pipeline.confirm import rollouts_to_confirm
from skillsv.pipeline.rankings import count_loo_tasks, leave_out, make_rankings
from skillsv.pipeline.run import reopen
from skillsv.rollout import Forecast, Ledger, RunFolder, Stop
from skillsv.rollout.forecast import Cost
from skillsv_bench.benchmark_run import BenchmarkRun, SharedBudget, paper_settings
from skillsv_bench.refinement import RefinementResult, ValuedSkill, refine
from skillsv_bench.second_metric import MetricReader, SecondScore
from skillsv_bench.selection import Selection, SelectionResult, count_selection_rollouts, select_skill, select_version

__all__ = ["BenchmarkResult", "BenchmarkRun", "forecast_benchmark", "paper_settings", "run_benchmark"]


def forecast_benchmark(benchmark_run: BenchmarkRun, prepared: PreparedRun) -> Forecast:
    """Forecast the whole protocol: the valuation, the baselines, and everything on panel B."""
    units, panel_b = len(prepared.compiled.execution), len(prepared.panel_b.tasks)
    valuation = prepared.forecast
    job = benchmark_run.confirmation(Path(), RunOverrides())

    def add_later_steps(cost: Cost, place: int) -> Cost:
        left_out_on = count_loo_tasks(len(prepared.panel_a.tasks), units, cost.rollouts)
        more = rollouts_to_confirm(units, panel_b, left_out_on, job)[place]
        more += panel_b if benchmark_run.editor else 0
        more += count_selection_rollouts(benchmark_run, panel_b)
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
    loo: Ranking
    proof: Proof
    judge: Ranking | None = None
    refined: RefinementResult | None = None
    skill_selection: Selection | None = None
    selected: SelectionResult | None = None
    second: tuple[SecondScore, ...] = ()


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
    skill_selection = None
    if benchmark_run.candidates:
        benchmark_run, skill_selection = await select_skill(benchmark_run, prepared, folder, budget, stop)
        prepared = prepare(replace(benchmark_run, settings=budget.limit_settings()).job)
    run = await value_on_panel_a(benchmark_run, prepared, folder, budget, stop, keep_going=keep_going)
    left_out = await leave_out(reopen(folder.path, budget.make_overrides()), budget, stop)
    judged = await _ask_judge(benchmark_run, folder, budget, stop)
    held_out = prepare_confirmation(benchmark_run.confirmation(folder.path, budget.make_overrides()))
    proof = await confirm_versions(held_out, budget, stop)
    keep_proof(held_out, proof)
    publish(folder, run)
    valued = ValuedSkill(benchmark_run=benchmark_run, run=run, folder=folder, budget=budget, stop=stop)
    refined = await refine(valued) if benchmark_run.editor else None
    selected = await select_version(valued, refined) if benchmark_run.validation else None
    result = BenchmarkResult(
        run=run,
        loo_total=left_out.total,
        loo_tasks=left_out.tasks,
        loo=left_out.ranking,
        judge=judged,
        proof=proof,
        refined=refined,
        skill_selection=skill_selection,
        selected=selected,
    )
    return replace(result, second=_read_second_metric(benchmark_run, prepared, folder, held_out.new, result))


async def _ask_judge(
    benchmark_run: BenchmarkRun, folder: RunFolder, budget: SharedBudget, stop: Stop
) -> Ranking | None:
    """The judge's ranking, None without a judge. The curves on panel B read the same scores from the ledger."""
    if not benchmark_run.settings.judge:
        return None
    rankings = await make_rankings(reopen(folder.path, budget.make_overrides()), ("judge",), budget, stop)
    return rankings["judge"][0]


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
    others = {"pruned": pruned}
    if result.refined is not None:
        others["refined"] = result.refined.rendering
    if result.selected is not None and result.selected.confirmed is not None:
        others["selected"] = result.selected.confirmed.rendering
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
