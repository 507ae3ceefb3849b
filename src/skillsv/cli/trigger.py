"""`skillsv trigger`: precision and recall of a skill's description, and the value of its sentences."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.cli.flags import AgentFlags, BudgetFlags, Json, RunFlags, given

if TYPE_CHECKING:
    from skillsv.api.plan import Plan
    from skillsv.api.trigger import TriggerEvaluation


def trigger(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    tasks: Annotated[Path, Parameter(help="Requests with should_trigger: JSONL, CSV, YAML or JSON.")],
    agent: Annotated[str, Parameter(help="An agent as for `value`, which says whether it opened the skill.")],
    ask: Annotated[
        bool, Parameter(negative=(), help="Ask the agent which of the listed skills it would open; no file is shown.")
    ] = False,
    among: Annotated[
        tuple[Path, ...], Parameter(negative=(), help="Other skills that are listed beside it (with --ask).")
    ] = (),
    json: Json = False,
    run: RunFlags | None = None,
    budget: BudgetFlags | None = None,
    how: AgentFlags | None = None,
) -> int:
    """skillsv trigger my-skill --tasks requests.jsonl --agent model:openai:gpt-5.5 --ask --max-rollouts 400

    Does an agent open the skill for the requests that need it, and for no others? Precision and recall of the
    description, and what each of its sentences adds to right decisions. Tasks say "should_trigger": true or false.
    The same command again resumes: nothing that was paid for is paid twice.
    """
    import anyio

    from skillsv.api.inputs import Inputs
    from skillsv.api.run_place import default_folder
    from skillsv.api.trigger import plan_trigger
    from skillsv.cli.consent import agree
    from skillsv.cli.printing import deliver, json_text, say

    flags = run or RunFlags()
    plan = plan_trigger(
        skill,
        Inputs(tasks=tasks, agent=agent),
        given(budget, how),
        ask=ask,
        among=among,
        run_dir=flags.run_dir,
        default_dir=lambda name: default_folder(f"{name}-trigger"),
        fresh=flags.fresh,
    )
    for note in plan.notes:
        say(note)
    agree(plan.lines(), yes=flags.yes or plan.has_limit)
    found = anyio.run(_run, plan, flags, ask)
    deliver(json_text(found.to_dict()) if json else "".join(f"{line}\n" for line in found.lines()), None)
    if found.run.error is not None:
        say(f"skillsv: {found.run.error}")
    return found.run.error.exit_code if found.run.error else 0


async def _run(plan: Plan, flags: RunFlags, ask: bool) -> TriggerEvaluation:  # noqa: FBT001 - anyio passes positions
    from skillsv.api.trigger import run_trigger
    from skillsv.pipeline.progress import progress
    from skillsv.rollout import Stop

    with progress(sys.stderr, quiet=flags.quiet) as listener:
        return await run_trigger(plan, listener, Stop(), ask=ask, fresh=flags.fresh)
