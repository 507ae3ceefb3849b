"""`skillsv matrix`: which line of a skill helps which agent."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.cli.flags import (
    AgentFlags,
    BudgetFlags,
    CompileFlags,
    EstimatorFlags,
    Json,
    MatrixFlags,
    RunFlags,
    given,
)
from skillsv.cli.printing import errors_as_json, refuse_inside, refuse_run_file, say
from skillsv.errors import OutputError

if TYPE_CHECKING:
    from skillsv.api.matrix import Matrix
    from skillsv.api.matrix_plan import MatrixPlan


def matrix(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    tasks: Annotated[
        Path, Parameter(help="Tasks: JSONL, evals.json, a folder of Harbor tasks, or inspect:FILE.py@task.")
    ],
    agents: MatrixFlags | None = None,
    max_drop: Annotated[float, Parameter(help="Points that a shorter skill may be predicted to lose.")] = 5,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Write the smallest skill for all agents here.")
    ] = None,
    csv: Annotated[Path | None, Parameter(help="Write units by agents as CSV to this file.")] = None,
    force: Annotated[
        bool, Parameter(negative=(), help="Replace an earlier output of skillsv, if unchanged, and any file of --csv.")
    ] = False,
    json: Json = False,
    run: RunFlags | None = None,
    estimator: EstimatorFlags | None = None,
    budget: BudgetFlags | None = None,
    how: AgentFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv matrix my-skill --tasks tasks.jsonl --agents model:openai:A,model:openai:B --max-rollouts 1500

    Value every unit of a skill with each of several agents, on the same tasks: which lines help all agents, which only
    some, which help one and harm another, and the smallest skill that is predicted to be no worse for all. The agents
    run one after another, or with --at-once at the same time, with one ledger; a limit holds for all of them together.
    The same command again resumes.
    """
    from skillsv.api.inputs import Inputs
    from skillsv.api.matrix_plan import make_matrix_plan
    from skillsv.api.run_place import default_folder
    from skillsv.cli.consent import agree
    from skillsv.settings import share_of_points

    flags = run or RunFlags()
    _check_outputs(skill, output, csv, force=force)
    plan = make_matrix_plan(
        skill,
        Inputs(tasks=tasks),
        None,
        given(agents, estimator, budget, how, compiler),
        max_drop=share_of_points(max_drop, "--max-drop"),
        run_dir=flags.run_dir,
        default_dir=default_folder,
        fresh=flags.fresh,
    )
    for note in plan.notes:
        say(note)
    agree(plan.lines(), yes=flags.yes or plan.has_limit)
    with errors_as_json(json=json):
        found = _run(plan, flags)
    for agent in found.document["agents"]:
        if agent["error"] is not None:
            say(f"skillsv: {agent['name']}: {agent['error']}")
    _deliver(found, output, csv, force=force, json=json)
    return found.error.exit_code if found.error else 0


def _check_outputs(skill: Path, output: Path | None, csv: Path | None, *, force: bool) -> None:
    """Raise OutputError where a result could not be written: before anything is spent."""
    from skillsv.rendering.output import check_folder, check_replaceable
    from skillsv.report.matrix_text import CSV_MARK

    if output is not None:
        check_folder(output, skill=skill, force=force)
    if csv is not None:
        refuse_inside(csv, skill)
        refuse_run_file(csv)
        check_replaceable(csv, CSV_MARK, force=force)


def _run(plan: MatrixPlan, flags: RunFlags) -> Matrix:
    import anyio

    from skillsv.api.matrix import run_matrix_plan
    from skillsv.pipeline.progress import progress
    from skillsv.rollout import Stop

    async def work() -> Matrix:
        with progress(sys.stderr, quiet=flags.quiet) as listener:
            return await run_matrix_plan(plan, listener, Stop(), fresh=flags.fresh, keep_going=flags.keep_going)

    return anyio.run(work)


def _deliver(found: Matrix, output: Path | None, csv: Path | None, *, force: bool, json: bool) -> None:
    """Print the result, and write the CSV and the shorter skill.

    Where a file cannot be written after all, the result is printed, and the error says where it is kept.
    """
    from skillsv.cli.printing import deliver, json_text

    if json:
        deliver(json_text(found.to_dict()), None)
    else:
        _print_table(found)
    try:
        if csv is not None:
            deliver(found.to_csv(), csv)
            say(f"Wrote {csv}.")
        if output is not None:
            say(f"Wrote {found.write(output, force=force)}. It is predicted to be no worse, and not proved.")
            drop = ["--max-drop", f"{100 * found.document['max_drop']:g}"]
            for name, run in found.runs.items():
                words = ["skillsv", "confirm", str(run.folder), "--skill", str(output), *drop]
                say(f"Prove it for {name}: {shlex.join(words)}")
    except OutputError as error:
        kept = f"The run folder {found.folder} keeps the result"
        error.hint = f"{kept}: the same command with another name pays for nothing."
        raise


def _print_table(found: Matrix) -> None:
    from rich.console import Console

    from skillsv.api.matrix import MATRIX_PAGE
    from skillsv.cli.run_valuation import PIPE_WIDTH
    from skillsv.report.escape import escape_text
    from skillsv.report.matrix_text import matrix_table

    out = sys.stdout
    console = Console(file=out, highlight=False, width=None if out.isatty() else PIPE_WIDTH)
    console.print(matrix_table(found.document, width=console.width, colour=console.is_terminal))
    console.print(escape_text(f"Page: {found.folder / MATRIX_PAGE}"), soft_wrap=True, markup=False)
