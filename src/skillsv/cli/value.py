"""`skillsv value`: estimates what each unit of a skill is worth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.cli.flags import (
    AgentFlags,
    BudgetFlags,
    CompileFlags,
    EstimatorFlags,
    Json,
    RunFlags,
    given,
)


def value(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    tasks: Annotated[
        Path, Parameter(help="Tasks: JSONL, evals.json, a folder of Harbor tasks, or inspect:FILE.py@task.")
    ],
    agent: Annotated[
        str,
        Parameter(help="claude-code:MODEL and others, command:PROGRAM ..., python:FILE.py:name, model:PROVIDER:NAME."),
    ],
    json: Json = False,
    run: RunFlags | None = None,
    estimator: EstimatorFlags | None = None,
    budget: BudgetFlags | None = None,
    how: AgentFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv value my-skill --tasks tasks.jsonl --agent "command:./agent.sh" --max-rollouts 500

    Value every unit of a skill: forecast, consent, rollouts with progress, values, verdicts, report.
    The same command again resumes: nothing that was paid for is paid twice.
    """
    from skillsv.api.inputs import Inputs
    from skillsv.api.plan import make_plan
    from skillsv.api.run_place import default_folder
    from skillsv.cli.run_valuation import run_valuation

    flags = run or RunFlags()
    plan = make_plan(
        skill,
        Inputs(tasks=tasks, agent=agent),
        given(estimator, budget, how, compiler),
        run_dir=flags.run_dir,
        default_dir=default_folder,
        fresh=flags.fresh,
    )
    return run_valuation(plan, flags, json=json, out=sys.stdout)
