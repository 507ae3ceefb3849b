"""`skillsv plan`: forecasts the cost of a valuation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.cli.flags import AgentFlags, BudgetFlags, CompileFlags, EstimatorFlags, Json, given
from skillsv.cli.printing import deliver, json_text, say
from skillsv.errors import SettingsError


def plan(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    tasks: Annotated[Path | None, Parameter(help="The tasks, for the size of the panel [60 tasks].")] = None,
    agent: Annotated[str | None, Parameter(help="The agent, for --probe.")] = None,
    probe: Annotated[
        bool, Parameter(negative=(), help="Pay for four rollouts to measure tokens, money and time.")
    ] = False,
    run_dir: Annotated[
        Path | None, Parameter(help="Folder of the probe's rollouts and of an earlier run [.skillsv/NAME].")
    ] = None,
    json: Json = False,
    estimator: EstimatorFlags | None = None,
    budget: BudgetFlags | None = None,
    how: AgentFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv plan my-skill --tasks tasks.jsonl --agent "command:./agent.sh" --probe

    Say what a valuation would cost before anything is spent. Only --probe runs the agent: four rollouts, which the
    valuation that follows does not pay for again. A table says what each budget buys. For chains also what truncation
    saves: gamma, as assumed or as the run in --run-dir measured it, R_full and the cost ratio of the paper.
    """
    from skillsv.api.inputs import Inputs
    from skillsv.api.plan import make_plan, measure
    from skillsv.api.run_place import default_folder

    flags = given(estimator, budget, how, compiler)
    if probe and (tasks is None or agent is None):
        raise SettingsError("a probe runs the agent on a few tasks.", hint="Give --tasks and --agent with --probe.")
    inputs = Inputs(tasks=tasks, agent=agent if probe else None)
    planned = make_plan(skill, inputs, flags, run_dir=run_dir, default_dir=default_folder)
    for note in planned.notes:
        say(note)
    if probe:
        planned = measure(planned)
    if json:
        deliver(json_text(planned.to_dict()), None)
    else:
        compiled = planned.skill.compiled
        units = f"{len(compiled.units)} units ({len(compiled.execution)} to value and the trigger)"
        table = planned.budget_table()
        lines = [f"{planned.skill.name}: {units}.", *planned.cost_lines(), *planned.truncation_lines()]
        lines += [] if table is None else table.lines()
        deliver("\n".join(lines) + "\n", None)
    return 0
