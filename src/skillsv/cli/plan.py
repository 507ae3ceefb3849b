"""`skillsv plan`: what a valuation would cost."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.cli.flags import BudgetFlags, CompileFlags, EstimatorFlags, Json, given


def plan(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    json: Json = False,
    estimator: EstimatorFlags | None = None,
    budget: BudgetFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv plan my-skill --orders 24 --window 8

    Say what a valuation would cost, by the paper's formula, before anything is spent.
    """  # noqa: D403, D415 - help begins with an example
    from skillsv.cli.printing import deliver, json_text
    from skillsv.cli.running import forecast_lines
    from skillsv.compile import compile_skill
    from skillsv.pipeline import compile_options, forecast_of
    from skillsv.settings import load_settings

    settings = load_settings(skill, given(estimator, budget, compiler))
    compiled = compile_skill(skill, compile_options(settings))
    forecast = forecast_of(compiled, settings)
    if json:
        deliver(json_text({"schema": "skillsv.plan/1", "units": len(compiled.units), **asdict(forecast)}), None)
    else:
        units = f"{len(compiled.units)} units ({len(compiled.execution)} to value and the trigger)"
        deliver("\n".join([f"{compiled.skill.name}: {units}.", *forecast_lines(forecast)]) + "\n", None)
    return 0
