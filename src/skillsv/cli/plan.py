"""`skillsv plan`: forecasts the cost of a valuation."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.cli.flags import AgentFlags, BudgetFlags, CompileFlags, EstimatorFlags, Json, given, read_settings
from skillsv.errors import SettingsError

if TYPE_CHECKING:
    from skillsv.rollout import PerRollout
    from skillsv.settings import Settings

ASSUMED_TASKS = 60
"""Size of the panel in a plan without --tasks: the smallest panel in the paper."""


def plan(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    tasks: Annotated[Path | None, Parameter(help="The tasks, for the size of the panel [60 tasks].")] = None,
    agent: Annotated[str | None, Parameter(help="The agent, for --probe.")] = None,
    probe: Annotated[
        bool, Parameter(negative=(), help="Pay for four rollouts to measure tokens, money and time.")
    ] = False,
    run_dir: Annotated[Path | None, Parameter(help="Folder that keeps the probe's rollouts [.skillsv/NAME].")] = None,
    json: Json = False,
    estimator: EstimatorFlags | None = None,
    budget: BudgetFlags | None = None,
    how: AgentFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv plan my-skill --tasks tasks.jsonl --agent "command:./agent.sh" --probe

    Say what a valuation would cost before anything is spent. Only --probe runs the agent: four rollouts, which the
    valuation that follows does not pay for again.
    """
    from skillsv.cli.printing import deliver, json_text
    from skillsv.cli.run_valuation import forecast_lines
    from skillsv.compiler import compile_skill
    from skillsv.pipeline import forecast_job
    from skillsv.settings import compile_options

    settings = read_settings(skill, given(estimator, budget, how, compiler))
    compiled = compile_skill(skill, compile_options(settings))
    measured = _measure_cost(skill, tasks, agent, settings, run_dir) if probe else None
    forecast = forecast_job(compiled, settings, _panel_size(tasks, settings), measured)
    if json:
        deliver(json_text({"schema": "skillsv.plan/1", "units": len(compiled.units), **asdict(forecast)}), None)
    else:
        units = f"{len(compiled.units)} units ({len(compiled.execution)} to value and the trigger)"
        deliver("\n".join([f"{compiled.skill.name}: {units}.", *forecast_lines(forecast)]) + "\n", None)
    return 0


def _panel_size(tasks: Path | None, settings: Settings) -> int:
    from skillsv.tasks import load_tasks, split_panels

    if tasks is None:
        return ASSUMED_TASKS
    loaded = load_tasks(tasks, verifier=settings.verifier, judge=settings.judge)
    panel, _ = split_panels(loaded, a=settings.panel_a, b=settings.panel_b, seed=settings.seed)
    return len(panel.tasks)


def _measure_cost(
    skill: Path, tasks: Path | None, agent: str | None, settings: Settings, run_dir: Path | None
) -> PerRollout:
    import anyio

    from skillsv.cli.run_valuation import default_folder
    from skillsv.pipeline import ValuationJob, prepare
    from skillsv.pipeline import probe as measure
    from skillsv.rollout import RunFolder

    if tasks is None or agent is None:
        raise SettingsError("a probe runs the agent on a few tasks.", hint="Give --tasks and --agent with --probe.")
    job = ValuationJob(skill=skill, tasks=tasks, agent=agent, settings=settings, folder=Path.cwd())
    prepared = prepare(job)
    return anyio.run(measure, prepared, RunFolder(run_dir or default_folder(prepared.compiled.skill.name)))
