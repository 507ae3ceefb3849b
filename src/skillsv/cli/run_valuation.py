"""The job of `value` and `demo`: forecast, consent, rollouts with progress, result."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import anyio

from skillsv.cli.consent import agree
from skillsv.cli.flags import RunFlags
from skillsv.cli.printing import json_text
from skillsv.cli.progress import progress
from skillsv.compiler import compile_skill
from skillsv.model.format import count, duration, money
from skillsv.model.value import Valuation
from skillsv.pipeline import (
    PreparedRun,
    RolloutResult,
    ValuationJob,
    build_run,
    measured_cost,
    prepare,
    publish,
    read_manifest,
    require_measurable_budget,
    run_rollouts,
    with_measured_cost,
)
from skillsv.report.escape import escape_text
from skillsv.report.text import terminal_table
from skillsv.report.valuation_json import valuation_dict
from skillsv.rollout import Forecast, PerRollout, RunFolder, Stop
from skillsv.rollout.adaptive import advise
from skillsv.sandbox.workspace import folder_name
from skillsv.settings import Settings, compile_options

PIPE_WIDTH = 120
"""Columns of the table in a log or pipe, which has no width of its own."""


def run_valuation(job: ValuationJob, flags: RunFlags, *, json: bool, out: TextIO) -> int:
    """Run the valuation from forecast to report. The exit code says whether it was completed."""
    prepared = prepare(job)
    folder = RunFolder(flags.run_dir or default_folder(prepared.compiled.skill.name))
    folder.check_place(job.skill, prepared.compiled.skill.name)
    measured = PerRollout() if flags.fresh else measured_cost(folder, prepared.agent.fingerprint)
    require_measurable_budget(job, measured)
    prepared = with_measured_cost(prepared, measured)
    ask_consent(prepared, yes=flags.yes)
    result = anyio.run(_run_rollouts, prepared, folder, flags)
    if result.error is not None:
        if result.nothing:
            raise result.error
        print(escape_text(f"skillsv: {result.error}"), file=sys.stderr)
    run = build_run(prepared.renderer, job.settings, read_manifest(folder), result)
    page = publish(folder, run)
    show(run.valuation, page, json=json, out=out)
    return result.error.exit_code if result.error else 0


async def _run_rollouts(prepared: PreparedRun, folder: RunFolder, flags: RunFlags) -> RolloutResult:
    with progress(sys.stderr, quiet=flags.quiet) as listener:
        return await run_rollouts(prepared, folder, listener, Stop(), fresh=flags.fresh, keep_going=flags.keep_going)


def default_folder(name: str) -> Path:
    """The run folder of a skill, unless --run-dir names another."""
    return Path(".skillsv") / folder_name(name)


def ask_consent(prepared: PreparedRun, *, yes: bool) -> None:
    """Print the forecast on stderr, and go on only with a yes or a limit."""
    lines = (*forecast_lines(prepared.forecast), *advice_lines(prepared))
    agree(lines, yes=yes or has_limit(prepared.job.settings))


def advice_lines(prepared: PreparedRun) -> list[str]:
    """What a person should know before agreeing: tasks graded by a judge model, a budget that is too small."""
    return [*_judge_line(prepared), *_budget_line(prepared)]


def _judge_line(prepared: PreparedRun) -> list[str]:
    graded = sum(task.verifier.startswith("judge") for task in prepared.panel_a.tasks)
    if not graded:
        return []
    return [
        f"{graded} of {len(prepared.panel_a.tasks)} tasks are graded by a judge model: one more call for each rollout."
    ]


def _budget_line(prepared: PreparedRun) -> list[str]:
    settings = prepared.job.settings
    least_needed = prepared.forecast.expected.rollouts
    if settings.method != "auto" or settings.max_rollouts is None or least_needed < settings.max_rollouts:
        return []
    coarse = compile_skill(prepared.job.skill, replace(compile_options(settings), granularity="section"))
    advice = advise(
        settings.max_rollouts,
        tasks=len(prepared.panel_a.tasks),
        units=len(prepared.compiled.execution),
        sections=len(coarse.execution),
        operators=len(settings.operators),
    )
    return [] if advice is None else [f"{advice.message} {advice.hint}"]


def has_limit(settings: Settings) -> bool:
    """Whether spending ends by itself."""
    return settings.max_rollouts is not None or settings.budget_usd is not None


def forecast_lines(forecast: Forecast) -> list[str]:
    """The forecast in words: rollouts, tokens, money, time."""
    low, expected, high = forecast.low, forecast.expected, forecast.high
    rollouts = f"{count(low.rollouts)} to {count(high.rollouts)} rollouts, about {count(expected.rollouts)}"
    tokens = "unknown" if expected.tokens is None else f"about {count(expected.tokens)}"
    cost = "unknown" if expected.usd is None else f"about {money(expected.usd)}"
    time = "unknown" if expected.seconds is None else f"about {duration(expected.seconds)}"
    return [
        f"Forecast: {rollouts} (fewer where earlier ones are reused).",
        f"Tokens {tokens}; cost {cost}; time {time}.",
    ]


def show(valuation: Valuation, page: Path, *, json: bool, out: TextIO) -> None:
    """Print the result on stdout."""
    if json:
        out.write(json_text(valuation_dict(valuation)))
        return
    from rich.console import Console

    console = Console(file=out, highlight=False, width=None if out.isatty() else PIPE_WIDTH)
    console.print(terminal_table(valuation, width=console.width, colour=console.is_terminal))
    console.print(f"Report: {page}", soft_wrap=True)
