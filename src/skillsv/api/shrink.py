"""A shorter skill with its proof, from one budget of rollouts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from skillsv.api.inputs import Inputs
from skillsv.api.matrix_plan import AgentInputs
from skillsv.api.run import Progress, Run, listener_of
from skillsv.api.shrink_agents import make_shared_plan, shrink_for_agents
from skillsv.api.shrink_plan import ProofArguments, ShrinkPlan, make_shrink_plan, require_shrink_consent, shrink_options
from skillsv.api.shrunk_skill import ShrunkSkill
from skillsv.api.skill import Skill
from skillsv.api.sync import run_sync
from skillsv.api.valuation import Valuation
from skillsv.confirmation.gate import DEFAULT_MAX_DROP
from skillsv.model.events import Note
from skillsv.model.protocols import Agent, Listener, Verifier
from skillsv.model.task import Task
from skillsv.pipeline.shrink import run_shrink
from skillsv.rollout import Stop, stop_on_signals


def shrink(
    skill: Skill | str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agent: str | Agent | Callable[..., object] | None = None,
    agents: AgentInputs | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    evaluate: Callable[..., object] | None = None,
    examples: Iterable[object] | None = None,
    version: str = "",
    max_drop: float = 100 * DEFAULT_MAX_DROP,
    level: float = 95,
    same_tasks: bool = False,
    keep: Sequence[str] | str = (),
    ask_judge: bool = False,
    refine: str | None = None,
    by_values: bool = False,
    steady_only: bool = False,
    run_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    yes: bool = False,
    fresh: bool = False,
    keep_going: bool = False,
    **settings: object,
) -> ShrunkSkill:
    r"""Make a skill shorter, and prove that it is no worse: one budget of rollouts for values and proof together.

    >>> import skillsv as sv
    >>> short = sv.shrink("# Facts\n\n- one\n- two\n- nothing\n", evaluate=lambda text, word: float(word in text),
    ...     examples=["one", "two"] * 60, max_rollouts=400)
    >>> short.outcome, short.text
    ('no worse', '# Facts\n\n- one\n- two\n')

    The arguments about skill, tasks, agent, consent and settings are those of `value`. `max_drop` is the loss that the
    proof must rule out, in points, at confidence `level` in percent. `same_tasks` proves it on the tasks that chose the
    units: the claim is then about these tasks alone. `keep` names units (by id or glob) that stay. `ask_judge` asks the
    agent of `judge` about each unit first; how much that counts is learnt from the scores. `refine` names an editor
    that rewrites what is left. Raises NoDifference where the skill makes no difference to the agent, and LowPower
    where the noise leaves the proof less than even odds, unless `keep_going`.

    An agent that repeats itself is asked by trial what it does not need; `by_values` values its units instead and
    chooses by that: less goes, no gain is given up for tokens, and the valuation of the run is whole.
    `steady_only` raises NoisyAgent when a score varies that should not, and spends no more: with a noisy agent the same
    rollouts remove less. Both are for one agent.

    `agents`, a list or a dict by name in place of `agent`, makes one skill that is shown to be no worse for each of
    them. A limit holds for all together.
    """
    inputs = Inputs(tasks=tasks, agent=agent, verifier=verifier, evaluate=evaluate, examples=examples, version=version)
    goal = ProofArguments(max_drop=max_drop, level=level, same_tasks=same_tasks)
    options = shrink_options(
        keep, ask_judge=ask_judge, editor=refine, keep_going=keep_going, by_values=by_values, steady_only=steady_only
    )
    folder = None if run_dir is None else Path(run_dir)
    if agents is not None:
        shared = make_shared_plan(
            skill, inputs, agents, settings, goal=goal, options=options, run_dir=folder, fresh=fresh
        )
        return shrink_for_agents(shared, progress=progress, yes=yes, fresh=fresh)
    plan = make_shrink_plan(skill, inputs, settings, goal=goal, options=options, run_dir=folder, fresh=fresh)
    require_shrink_consent(plan, plan.lines()[0], yes=yes)

    async def work(stop: Stop) -> ShrunkSkill:
        with listener_of(progress) as listener:
            announce(plan, listener)
            return await run_shrink_plan(plan, listener, stop, fresh=fresh)

    return run_sync(work)


async def ashrink(
    skill: Skill | str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agent: str | Agent | Callable[..., object] | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    max_drop: float = 100 * DEFAULT_MAX_DROP,
    same_tasks: bool = False,
    keep: Sequence[str] | str = (),
    run_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    yes: bool = False,
    keep_going: bool = False,
    **settings: object,
) -> ShrunkSkill:
    r"""`shrink` for async callers: it runs in the caller's event loop.

    >>> import asyncio
    >>> import skillsv as sv
    >>> async def answer(skill, task):
    ...     return "yes" if skill and task.input in skill.text else "no"
    >>> tasks = [{"input": word, "target": "yes"} for word in ("red", "green") * 60]
    >>> short = asyncio.run(sv.ashrink("# Colours\n\n- red\n- green\n- grey\n", tasks=tasks, agent=answer,
    ...     max_rollouts=400))
    >>> short.text
    '# Colours\n\n- red\n- green\n'
    """
    plan = make_shrink_plan(
        skill,
        Inputs(tasks=tasks, agent=agent, verifier=verifier),
        settings,
        goal=ProofArguments(max_drop=max_drop, same_tasks=same_tasks),
        options=shrink_options(keep, keep_going=keep_going),
        run_dir=None if run_dir is None else Path(run_dir),
    )
    require_shrink_consent(plan, plan.lines()[0], yes=yes)
    with listener_of(progress) as listener:
        announce(plan, listener)
        return await run_shrink_plan(plan, listener, None)


async def run_shrink_plan(
    plan: ShrinkPlan, listener: Listener, stop: Stop | None, *, fresh: bool = False
) -> ShrunkSkill:
    """Run a shrink to its end. A signal between two of its sessions ends it, too, and loses nothing."""
    with stop_on_signals(stop):
        result = await run_shrink(plan.shrink, plan.folder, listener, stop, fresh=fresh)
    run = Run(
        valuation=Valuation.of(result.run.valuation),
        folder=plan.folder.path,
        skill=plan.skill,
        inputs=plan.inputs,
        stored=result.run,
        temporary=plan.temporary,
    )
    return ShrunkSkill(document=result.document, run=run, result=result)


def announce(plan: ShrinkPlan, listener: Listener) -> None:
    """Say what the shrink will cost, and what that can prove, before it begins."""
    for line in (*plan.notes, *plan.lines()):
        listener(Note(message=line))
