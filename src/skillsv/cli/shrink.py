"""`skillsv shrink`: a shorter skill and its proof, from one budget of rollouts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from skillsv.cli.flags import (
    AgentFlags,
    BudgetFlags,
    CompileFlags,
    Json,
    MatrixFlags,
    RunFlags,
    given,
    setting_parameter,
)
from skillsv.cli.printing import deliver, errors_as_json, json_text, refuse_inside, say
from skillsv.errors import OutputError

if TYPE_CHECKING:
    from skillsv.api.shrink_agents import SharedShrinkPlan
    from skillsv.api.shrink_plan import ShrinkPlan
    from skillsv.api.shrunk_skill import ShrunkSkill


def shrink(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    tasks: Annotated[
        Path, Parameter(help="Tasks: JSONL, evals.json, a folder of Harbor tasks, or inspect:FILE.py@task.")
    ],
    agent: Annotated[
        str | None,
        Parameter(help="command:PROGRAM ..., python:FILE.py:name, model:PROVIDER:NAME, inspect:FILE.py@task."),
    ] = None,
    agents: MatrixFlags | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Write the shorter skill here.")] = None,
    force: Annotated[bool, Parameter(negative=(), help="Replace an earlier output of skillsv, if unchanged.")] = False,
    max_drop: Annotated[float, Parameter(help="Points that the proof must rule out to be lost.")] = 5,
    level: Annotated[float, Parameter(help="Confidence level, in percent or as a share.")] = 95,
    same_tasks: Annotated[
        bool, Parameter(negative=(), help="Prove it on the tasks that chose the units; the claim is about these alone.")
    ] = False,
    keep: Annotated[
        tuple[str, ...], Parameter(negative=(), help="Units that stay: an id, or a glob of ids, files or sections.")
    ] = (),
    ask_judge: Annotated[
        bool, Parameter(negative=(), help="Ask the agent of --judge about each unit first; its weight is learnt.")
    ] = False,
    refine: Annotated[
        str | None, Parameter(help="An editor that rewrites what is left: command:PROGRAM, model:PROVIDER:NAME.")
    ] = None,
    by_values: Annotated[
        bool, Parameter(negative=(), help="Value all units and choose by that, also where the agent repeats itself.")
    ] = False,
    seed: Annotated[int | None, setting_parameter("seed")] = None,
    panel_a: Annotated[str | None, setting_parameter("panel_a")] = None,
    panel_b: Annotated[str | None, setting_parameter("panel_b")] = None,
    markdown: Annotated[Path | None, Parameter(help="Write Markdown for a pull request to this file.")] = None,
    json: Json = False,
    run: RunFlags | None = None,
    budget: BudgetFlags | None = None,
    how: AgentFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv shrink my-skill --tasks tasks.jsonl --agent "command:./agent.sh" --max-rollouts 800 -o shorter

    Make a skill shorter, and prove that it is no worse: one budget for values and proof together. First it says what
    that can prove; after the first batch it plans again with the measured noise. The exit code is 0 where a shorter
    skill is shown to be no worse, 3 where it is not shown or worse, 5 where the skill makes no difference to the agent.
    Nothing is written to -o unless it is shown. The same command again resumes. With --agents it is one skill that is
    shown to be no worse for each of them; a limit holds for all together.
    """
    from skillsv.api.run_place import default_folder
    from skillsv.api.shrink_plan import ProofArguments, shrink_options
    from skillsv.cli.consent import agree

    flags = run or RunFlags()
    _check_outputs(skill, output, markdown, force=force)
    own = {"seed": seed, "panel_a": panel_a, "panel_b": panel_b}
    own = {name: value for name, value in own.items() if value is not None}
    plan = _make_plan(
        skill,
        tasks,
        agent,
        {**given(agents, budget, how, compiler), **own},
        goal=ProofArguments(max_drop=max_drop, level=level, same_tasks=same_tasks),
        options=shrink_options(
            keep, ask_judge=ask_judge, editor=refine, keep_going=flags.keep_going, by_values=by_values
        ),
        run_dir=flags.run_dir,
        default_dir=default_folder,
        fresh=flags.fresh,
    )
    for note in plan.notes:
        say(note)
    agree(plan.lines(), yes=flags.yes or plan.has_limit)
    with errors_as_json(json=json):
        short = _run(plan, flags)
    _deliver(short, output, markdown, force=force, json=json)
    return 0 if short.met else 3


def _check_outputs(skill: Path, output: Path | None, markdown: Path | None, *, force: bool) -> None:
    """Raise OutputError where the result could not be written: before anything is spent."""
    from skillsv.rendering.output import check_folder, check_patch, check_text
    from skillsv.report.shrink_text import MARKDOWN_MARK

    if output is not None:
        check_folder(output, skill=skill, force=force)
        check_patch(output, force=force)
    if markdown is not None:
        refuse_inside(markdown, skill)
        check_text(markdown, MARKDOWN_MARK, force=force)


def _make_plan(
    skill: Path, tasks: Path, agent: str | None, settings: dict[str, Any], **options: Any
) -> ShrinkPlan | SharedShrinkPlan:
    """The plan for one agent; without one, for the agents that --agents or a file of settings lists."""
    from skillsv.api.inputs import Inputs
    from skillsv.api.shrink_agents import make_shared_plan
    from skillsv.api.shrink_plan import make_shrink_plan

    if agent is None or "agents" in settings:
        return make_shared_plan(skill, Inputs(tasks=tasks, agent=agent), None, settings, **options)
    return make_shrink_plan(skill, Inputs(tasks=tasks, agent=agent), settings, **options)


def _run(plan: ShrinkPlan | SharedShrinkPlan, flags: RunFlags) -> ShrunkSkill:
    import anyio

    from skillsv.api.shrink import run_shrink_plan
    from skillsv.api.shrink_agents import run_shared_plan
    from skillsv.api.shrink_plan import ShrinkPlan
    from skillsv.pipeline.progress import progress
    from skillsv.rollout import Stop

    async def work() -> ShrunkSkill:
        with progress(sys.stderr, quiet=flags.quiet) as listener:
            if isinstance(plan, ShrinkPlan):
                return await run_shrink_plan(plan, listener, Stop(), fresh=flags.fresh)
            return await run_shared_plan(plan, listener, Stop(), fresh=flags.fresh)

    return anyio.run(work)


def _deliver(short: ShrunkSkill, output: Path | None, markdown: Path | None, *, force: bool, json: bool) -> None:
    """Print the result, and write the shorter skill, the patch and the Markdown.

    Where a file cannot be written after all, the result is printed, and the error says where it is kept.
    """
    from skillsv.rendering.output import write_patch
    from skillsv.rollout import RunFolder

    lines = [*short.lines(), *(f"Report: {RunFolder(folder).report}" for folder in short.folders)]
    deliver(json_text(short.to_dict()) if json else "".join(f"{line}\n" for line in lines), None)
    kept = f"The run folder {short.folders[0]} keeps the result: the same command with another file pays for nothing."
    try:
        if output is not None and short.met:
            short.write(output, force=force)
            say(f"Wrote {output} and {write_patch(output, short.patch, force=force)}.")
        if markdown is not None:
            deliver(short.markdown, markdown)
            say(f"Wrote {markdown}.")
    except OSError as error:
        raise OutputError(f"{error.strerror or error}.", where=error.filename, hint=kept) from error
    except OutputError as error:
        error.hint = kept
        raise
