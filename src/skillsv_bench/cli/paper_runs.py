"""The benchmark runs of `skillsv bench paper`: forecast all, ask once, run one after the other within one limit."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from skillsv import Plan
from skillsv.errors import BudgetReached, SkillSVError
from skillsv.extend.commands import agree
from skillsv.extend.runs import (
    Forecast,
    Stop,
    forecast_lines,
    plan_job,
    progress,
)
from skillsv.model.format import count
from skillsv_bench.benchmark_run import BenchmarkRun, SharedBudget
from skillsv_bench.cli.protocol_flags import ProtocolFlags
from skillsv_bench.cli.published import write_results
from skillsv_bench.paper.sources import BenchmarkData
from skillsv_bench.protocol import forecast_benchmark, require_measurable, run_benchmark

REGIONS: Mapping[str, Any] = {"regions": "split"}
"""The paper's table splits the regions of optimizers; a flag may say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One benchmark run that is ready to begin."""

    benchmark_run: BenchmarkRun
    plan: Plan
    forecast: Forecast
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.benchmark_run.benchmark.name


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What all benchmark runs share."""

    agent: str
    steps: ProtocolFlags
    settings: Mapping[str, Any]
    runs: Path


def plan_run(data: BenchmarkData, skill: Path, request: RunRequest) -> PlannedRun:
    """Prepare the run of one benchmark, with a forecast of the whole protocol. Nothing is spent."""
    assert data.loaded is not None
    benchmark_run, notes = request.steps.make_run(
        data.benchmark, data.source, data.loaded, skill, request.agent, {**REGIONS, **request.settings}
    )
    plan = plan_job(benchmark_run.job, run_dir=request.runs / data.benchmark.name)
    require_measurable(plan)
    forecast = forecast_benchmark(benchmark_run, plan)
    return PlannedRun(benchmark_run=benchmark_run, plan=plan, forecast=forecast, notes=notes)


def cost_lines(planned: Sequence[PlannedRun]) -> list[str]:
    """What the command will cost, in words."""
    lines = ["Planted games cost nothing."]
    if not planned:
        return [*lines, "No benchmark is run, so nothing is spent."]
    for run in planned:
        title, units = run.benchmark_run.benchmark.title, len(run.plan.skill.compiled.execution)
        lines += [
            f"{title}: {units} units besides the trigger.",
            *(f"  {line}" for line in forecast_lines(run.forecast)),
        ]
    low, high = (sum(getattr(run.forecast, end).rollouts for run in planned) for end in ("low", "high"))
    return [*lines, f"Together {count(low)} to {count(high)} rollouts."]


def run_all(planned: Sequence[PlannedRun], *, yes: bool, quiet: bool) -> tuple[Mapping[str, str], int]:
    """Ask for consent, then run the benchmarks in turn. Returns the errors by benchmark, and the exit code.

    The limits of the command hold for all runs together. Where one ends early, the others still run if they may spend.
    """
    limited = bool(planned) and planned[0].benchmark_run.settings.has_limit
    lines = cost_lines(planned)
    agree(lines, yes=not planned or yes or limited)
    errors: dict[str, str] = {}
    exit_code, rollouts, usd = 0, 0, 0.0
    for run in planned:
        try:
            benchmark_run = _rest_of_limits(run.benchmark_run, rollouts, usd)
        except BudgetReached as error:
            errors[run.name], exit_code = str(error), exit_code or error.exit_code
            continue
        with progress(sys.stderr, quiet=quiet) as listener:
            spent = SharedBudget(benchmark_run, listener)
            try:
                anyio.run(_run_one, replace(run, benchmark_run=benchmark_run), spent)
            except SkillSVError as error:
                errors[run.name], exit_code = str(error), exit_code or error.exit_code
        rollouts, usd = rollouts + spent.rollouts, usd + spent.usd
    for name, message in errors.items():
        print(f"skillsv: {name}: {message}", file=sys.stderr)
    return errors, exit_code


async def _run_one(run: PlannedRun, spent: SharedBudget) -> None:
    """Run one benchmark and write its results; `spent` counts its rollouts, also where it fails."""
    prepared, folder = run.plan.runnable_parts()
    plan = replace(run.plan, prepared=replace(prepared, job=run.benchmark_run.job))
    result = await run_benchmark(run.benchmark_run, plan, spent, Stop())
    write_results(run.benchmark_run, result, run.notes, folder.path / "results")


def _rest_of_limits(benchmark_run: BenchmarkRun, rollouts: int, usd: float) -> BenchmarkRun:
    """The benchmark run with what is left of the command's limits. Raises BudgetReached where nothing is."""
    settings = benchmark_run.settings
    left = None if settings.max_rollouts is None else settings.max_rollouts - rollouts
    money = None if settings.budget_usd is None else settings.budget_usd - usd
    if (left is not None and left < 1) or (money is not None and money <= 0):
        raise BudgetReached(
            "the limit was reached before this benchmark began.", hint="Run the same command with a higher limit."
        )
    return replace(benchmark_run, settings=replace(settings, max_rollouts=left, budget_usd=money))
