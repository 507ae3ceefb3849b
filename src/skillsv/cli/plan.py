"""`skillsv plan`: what a valuation would cost."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.cli.flags import BudgetFlags, CompileFlags, EstimatorFlags, Json, given

USUAL_TASKS = 60
"""The panel that a plan without tasks assumes: the smallest in the paper."""


def plan(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    tasks: Annotated[Path | None, Parameter(help="The tasks, for the size of the panel [60 tasks].")] = None,
    json: Json = False,
    estimator: EstimatorFlags | None = None,
    budget: BudgetFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv plan my-skill --orders 24 --window 8

    Say what a valuation would cost before anything is spent.
    """
    from skillsv.cli.printing import deliver, json_text
    from skillsv.cli.running import forecast_lines
    from skillsv.compile import compile_skill
    from skillsv.pipeline import forecast_of
    from skillsv.settings import compile_options, load_settings
    from skillsv.tasks import load_tasks, split_panels

    settings = load_settings(skill, given(estimator, budget, compiler))
    compiled = compile_skill(skill, compile_options(settings))
    panel = (
        split_panels(load_tasks(tasks), a=settings.panel_a, b=settings.panel_b, seed=settings.seed)[0]
        if tasks
        else None
    )
    forecast = forecast_of(compiled, settings, len(panel.tasks) if panel else USUAL_TASKS)
    if json:
        deliver(json_text({"schema": "skillsv.plan/1", "units": len(compiled.units), **asdict(forecast)}), None)
    else:
        units = f"{len(compiled.units)} units ({len(compiled.execution)} to value and the trigger)"
        deliver("\n".join([f"{compiled.skill.name}: {units}.", *forecast_lines(forecast)]) + "\n", None)
    return 0
