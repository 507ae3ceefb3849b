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

from skillsv import Plan, Proof, Run, load_run, render
from skillsv.extend.comparison import count_loo_tasks
from skillsv.extend.runs import (
    Cost,
    Forecast,
    Ledger,
    RunFolder,
    RunOverrides,
    Stop,
    leave_out,
    make_rankings,
    plan_job,
    prepare_confirmation,
    reopen,
    rollouts_to_confirm,
    run_confirmation,
    run_plan,
)
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Listener
from skillsv.model.value import Interval, Ranking
from skillsv_bench.benchmark_run import BenchmarkRun, SharedBudget, paper_settings
from skillsv_bench.refinement import RefinementResult, ValuedSkill, refine
from skillsv_bench.second_metric import MetricReader, SecondScore
from skillsv_bench.selection import Selection, SelectionResult, count_selection_rollouts, select_skill, select_version

__all__ = [
    "BenchmarkResult",
    "BenchmarkRun",
    "forecast_benchmark",
    "paper_settings",
    "require_measurable",
    "run_benchmark",
]


def require_measurable(plan: Plan) -> None:
    """Raise SettingsError where money is the only limit of the protocol and the cost of a rollout is unknown.

    A time limit applies to the valuation alone, not to the whole protocol.
    """
    prepared, _ = plan.runnable_parts()
    untimed = replace(prepared.job, settings=replace(prepared.job.settings, max_seconds=None))
    replace(plan, prepared=replace(prepared, job=untimed)).require_runnable()


def forecast_benchmark(benchmark_run: BenchmarkRun, plan: Plan) -> Forecast:
    """Forecast the whole protocol: the valuation, the baselines, and everything on panel B."""
    prepared, _ = plan.runnable_parts()
    units, panel_b = len(prepared.compiled.execution), len(prepared.panel_b.tasks)
    valuation = plan.forecast
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


async def value_on_panel_a(plan: Plan, listener: Listener, stop: Stop, *, keep_going: bool = False) -> Run:
    """Estimate the values on panel A. If the rollouts end early, publish what there is and raise the reason.

    The same command resumes from there.
    """
    run = await run_plan(plan, listener, stop, keep_going=keep_going)
    if run.error is not None:
        raise run.error
    return load_run(run.folder)


async def run_benchmark(
    benchmark_run: BenchmarkRun,
    plan: Plan,
    listener: Listener,
    stop: Stop,
    *,
    keep_going: bool = False,
) -> BenchmarkResult:
    """Run the whole protocol. The ledger records every rollout, so that the same command resumes."""
    budget = SharedBudget(benchmark_run, listener)
    prepared, folder = plan.runnable_parts()
    skill_selection = None
    if benchmark_run.candidates:
        benchmark_run, skill_selection = await select_skill(benchmark_run, prepared, folder, budget, stop)
        plan = plan_job(replace(benchmark_run, settings=budget.limit_settings()).job, run_dir=folder.path)
    run = await value_on_panel_a(plan, budget, stop, keep_going=keep_going)
    left_out = await leave_out(reopen(folder.path, budget.make_overrides()), budget, stop)
    judged = await _ask_judge(benchmark_run, folder, budget, stop)
    held_out = prepare_confirmation(benchmark_run.confirmation(folder.path, budget.make_overrides()))
    proof = await run_confirmation(held_out, budget, stop)
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
    return replace(result, second=_read_second_metric(benchmark_run, plan, held_out.new, result))


async def _ask_judge(
    benchmark_run: BenchmarkRun, folder: RunFolder, budget: SharedBudget, stop: Stop
) -> Ranking | None:
    """The judge's ranking, None without a judge. The curves on panel B read the same scores from the ledger."""
    if not benchmark_run.settings.judge:
        return None
    rankings = await make_rankings(reopen(folder.path, budget.make_overrides()), ("judge",), budget, stop)
    return rankings["judge"][0]


def _read_second_metric(
    benchmark_run: BenchmarkRun, plan: Plan, pruned: Rendering, result: BenchmarkResult
) -> tuple[SecondScore, ...]:
    """The second metric of the anchors on both panels, and of the shorter skills on panel B; from the ledger alone."""
    metric, stored, skill = benchmark_run.benchmark.second_metric, result.run.stored, result.run.skill
    if metric is None:
        return ()
    prepared, folder = plan.runnable_parts()
    coalitions = {"empty": (), "trigger": (skill.compiled.trigger,), "full": skill.compiled.everything}
    anchors = {name: render(skill, keep=coalition) for name, coalition in coalitions.items()}
    others = {"pruned": pruned}
    if result.refined is not None:
        others["refined"] = result.refined.rendering
    if result.selected is not None and result.selected.confirmed is not None:
        others["selected"] = result.selected.confirmed.rendering
    replicates = result.proof.result.replicates
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        reader = MetricReader(
            metric=metric,
            ledger=ledger,
            agent=stored.manifest["agent"]["fingerprint"],
            level=stored.settings.level,
            seed=stored.settings.seed,
        )
        return (
            *reader.read_panel("a", prepared.panel_a.tasks, anchors, replicates=1),
            *reader.read_panel("b", prepared.panel_b.tasks, {**anchors, **others}, replicates=replicates),
        )
