"""One shorter skill for several agents, with its proof for each of them, from one budget of rollouts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillsv.api.inputs import Inputs
from skillsv.api.matrix_plan import AgentInputs, Limits, agent_folder, name_agents, require_different, sum_costs
from skillsv.api.plan import amount_lines
from skillsv.api.run import Progress, Run, listener_of
from skillsv.api.run_place import TemporaryFolder, choose_place
from skillsv.api.shrink_plan import ProofArguments, ShrinkPlan, make_shrink_plan, require_shrink_consent
from skillsv.api.shrunk_skill import ShrunkSkill
from skillsv.api.skill import Skill, compile, compiler_settings  # noqa: A004 - the public name
from skillsv.api.sync import run_sync
from skillsv.api.valuation import Valuation
from skillsv.confirmation.power import LEAST_POWER
from skillsv.errors import SettingsError
from skillsv.model.events import Note
from skillsv.model.format import plural
from skillsv.model.protocols import Listener
from skillsv.pipeline.shrink_advice import before_first_batch
from skillsv.pipeline.shrink_agents import AgentShrink, advice, joint_power, plan_lines, run_shared_shrink
from skillsv.pipeline.shrink_preparation import ShrinkOptions
from skillsv.rollout import RunFolder, Stop, stop_on_signals
from skillsv.rollout.run_folder import AGENTS
from skillsv.settings import load_settings


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedShrunkSkill(ShrunkSkill):
    """A shorter skill and what was proved of it for each of several agents. `shrink` with `agents` makes one.

    It is `met` only where it is shown to be no worse for every agent. `run` is the run of the first agent.
    """

    runs: Mapping[str, Run] = field(repr=False)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the runs, in the order of the agents."""
        return tuple(run.folder for run in self.runs.values())

    @property
    def outcomes(self) -> dict[str, str | None]:
        """What the last proof shows for each agent by name; None for an agent that was not asked."""
        shown: dict[str, str | None] = {}
        for agent in self.document["agents"]:
            proved = [one["outcome"] for one in agent["sets"] if one["outcome"] is not None]
            shown[agent["name"]] = proved[-1] if proved else None
        return shown


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedShrinkPlan:
    """A shrink for several agents that is prepared. `plans` holds the plan of each agent, with its share, by name."""

    plans: Mapping[str, ShrinkPlan]
    folder: RunFolder
    notes: tuple[str, ...] = ()
    temporary: TemporaryFolder | None = field(default=None, repr=False)

    @property
    def has_limit(self) -> bool:
        """Whether the user gave a limit."""
        return all(plan.has_limit for plan in self.plans.values())

    def lines(self) -> list[str]:
        """What can be proven with the budget."""
        plans = {name: plan.shrink.plan for name, plan in self.plans.items()}
        total = sum(plan.goal.rollouts for plan in plans.values())
        lines = [
            f"Forecast: at most {total:,} rollouts for {plural(len(plans), 'agent')}, the same share for each.",
            *amount_lines(sum_costs([plan.cost for plan in self.plans.values()])),
            *plan_lines(plans),
        ]
        if joint_power(plans) < LEAST_POWER:
            lines.append(before_first_batch(advice(plans)))
        return lines

    def require_consent(self, *, yes: bool) -> None:
        """Raise SettingsError unless the caller agreed to the cost, or wrote all the code that spends."""
        for plan in self.plans.values():
            require_shrink_consent(plan, self.lines()[0], yes=yes)


def make_shared_plan(
    skill: Skill | str | os.PathLike[str],
    inputs: Inputs,
    agents: AgentInputs | None,
    given: dict[str, object],
    *,
    goal: ProofArguments,
    options: ShrinkOptions,
    run_dir: Path | None = None,
    default_dir: Callable[[str], Path] | None = None,
    fresh: bool = False,
) -> SharedShrinkPlan:
    """The plan of a shrink for several agents. Runs nothing and writes nothing.

    `inputs` holds tasks and verifier, `agents` is None where a file of settings lists them.
    """
    if options.ask_judge:
        raise SettingsError("a judge's opinion is for the shrink of one agent.", hint="Leave out --ask-judge.")
    if inputs.agent is not None:
        raise SettingsError("either one agent or several are given.", hint="Leave out agent, or agents.")
    if inputs.tasks is None:
        raise SettingsError("a shrink for several agents needs tasks.", hint="Pass tasks=.")
    compiled = compile(skill, **compiler_settings(given))
    settings = load_settings(compiled.path, {**compiled.settings, **given})
    if agents is None and not settings.agents:
        raise SettingsError("a shrink needs an agent.", hint="Name one with --agent, or several with --agents.")
    named = name_agents(settings.agents if agents is None else agents)
    place = choose_place(compiled.path, compiled.name, run_dir, default_dir)
    share = Limits.of(settings).divide(settings, len(named))
    # All agents share one clock, so the limit of seconds is not divided.
    limits = {name: getattr(share, name) for name in ("max_rollouts", "max_tokens", "budget_usd")}
    plans = {
        name: make_shrink_plan(
            compiled,
            replace(inputs, agent=agent),
            {**given, **{limit: value for limit, value in limits.items() if value is not None}},
            goal=goal,
            options=options,
            run_dir=place.folder.path / AGENTS / agent_folder(name),
            fresh=fresh,
            agents=len(named),
        )
        for name, agent in named.items()
    }
    require_different({name: plan.shrink.prepared.agent for name, plan in plans.items()})
    in_turn = ["Note: the agents of a shrink run one after another: --at-once is for a matrix."]
    of_agents = dict.fromkeys(note for plan in plans.values() for note in plan.notes)
    notes = (*place.notes, *(in_turn if settings.at_once else ()), *of_agents)
    return SharedShrinkPlan(plans=plans, folder=place.folder, notes=notes, temporary=place.temporary)


async def run_shared_plan(
    plan: SharedShrinkPlan, listener: Listener, stop: Stop | None, *, fresh: bool = False
) -> SharedShrunkSkill:
    """Run a shrink for several agents to its end."""
    if fresh:
        plan.folder.start_fresh()
    agents = {name: AgentShrink(shrink=one.shrink, folder=one.folder) for name, one in plan.plans.items()}
    with stop_on_signals(stop):
        result = await run_shared_shrink(agents, plan.folder, listener, stop)
    runs = {
        name: Run(
            valuation=Valuation.of(stored.valuation),
            folder=plan.plans[name].folder.path,
            skill=plan.plans[name].skill,
            inputs=plan.plans[name].inputs,
            stored=stored,
            temporary=plan.temporary,
        )
        for name, stored in result.runs.items()
    }
    return SharedShrunkSkill(document=result.document, run=next(iter(runs.values())), result=result, runs=runs)


def shrink_for_agents(plan: SharedShrinkPlan, *, progress: Progress, yes: bool, fresh: bool) -> SharedShrunkSkill:
    """Ask for agreement to the cost, say what the budget can prove, and run."""
    plan.require_consent(yes=yes)

    async def work(stop: Stop) -> SharedShrunkSkill:
        with listener_of(progress) as listener:
            for line in (*plan.notes, *plan.lines()):
                listener(Note(message=line))
            return await run_shared_plan(plan, listener, stop, fresh=fresh)

    return run_sync(work)
