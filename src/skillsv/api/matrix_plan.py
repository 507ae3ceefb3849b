"""A matrix that is prepared: one run for each agent, on the same tasks, with one ledger and one budget."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillsv.api.consent import require_consent, runs_only_own_code
from skillsv.api.inputs import Inputs
from skillsv.api.plan import Plan, forecast_lines, plan_job
from skillsv.api.run_place import TemporaryFolder, choose_place
from skillsv.api.skill import Skill, compile, compiler_settings  # noqa: A004 - the public name
from skillsv.errors import SettingsError
from skillsv.model.format import plural
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Usage
from skillsv.pipeline import ValuationJob
from skillsv.pipeline.cost import recorded_result_settings
from skillsv.rollout import Forecast, RunFolder
from skillsv.rollout.forecast import Cost
from skillsv.rollout.run_folder import AGENTS
from skillsv.sandbox.workspace import folder_name
from skillsv.settings import Settings, load_settings, small_settings

AgentInput = str | Agent | Callable[..., object]
"""An agent as callers pass it: a text as after `--agent`, a function, or an object with `fingerprint` and `run`."""

AgentInputs = Mapping[str, AgentInput] | Sequence[AgentInput]
"""Several agents, by name or in a row."""

AT_ONCE = (
    "Note: the agents run at the same time, so none begins with what another showed: less waiting, and more rollouts "
    "for the same precision."
)
"""The note of a matrix whose agents run at the same time."""

NAME_CHARACTERS = 40
"""Characters of an agent's name in the name of its run folder; a digest follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What all agents together may still spend. None: no limit."""

    rollouts: int | None
    tokens: int | None
    usd: float | None
    seconds: float | None

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The limits that the user gave."""
        return cls(
            rollouts=settings.max_rollouts,
            tokens=settings.max_tokens,
            usd=settings.budget_usd,
            seconds=settings.max_seconds,
        )

    def divide(self, settings: Settings, agents: int) -> Settings:
        """The settings of the next of so many agents: each has the same share of what is left."""
        return replace(
            settings,
            max_rollouts=None if self.rollouts is None else max(self.rollouts // agents, 1),
            max_tokens=None if self.tokens is None else max(self.tokens // agents, 1),
            budget_usd=None if self.usd is None else max(self.usd / agents, 1e-9),
            max_seconds=None if self.seconds is None else max(self.seconds / agents, 1e-3),
        )

    def minus(self, rollouts: int, usage: Usage, seconds: float) -> Limits:
        """What is left after one agent."""
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
        return Limits(
            rollouts=None if self.rollouts is None else max(self.rollouts - rollouts, 0),
            tokens=None if self.tokens is None else max(self.tokens - tokens, 0),
            usd=None if self.usd is None else max(self.usd - (usage.usd or 0.0), 0.0),
            seconds=None if self.seconds is None else max(self.seconds - seconds, 0.0),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class MatrixPlan:
    """What a matrix will cost, and everything that running it needs. `plans` holds the plan of each agent by name."""

    skill: Skill
    settings: Settings
    plans: Mapping[str, Plan]
    folder: Path
    max_drop: float
    notes: tuple[str, ...] = ()
    temporary: TemporaryFolder | None = field(default=None, repr=False)

    @property
    def has_limit(self) -> bool:
        """Whether spending ends by itself."""
        return self.settings.has_limit

    @property
    def forecast(self) -> Forecast:
        """The cost of all agents together."""
        costs = [plan.forecast for plan in self.plans.values()]
        return Forecast(
            low=sum_costs([cost.low for cost in costs]),
            expected=sum_costs([cost.expected for cost in costs]),
            high=sum_costs([cost.high for cost in costs]),
            method=costs[0].method,
        )

    def lines(self) -> list[str]:
        """The forecast in words."""
        tasks = next(iter(self.plans.values())).tasks
        when = "at the same time" if self.settings.at_once else "one after another"
        agents = f"{plural(len(self.plans), 'agent')} on the same {plural(tasks, 'task')}, {when}"
        shared = "; they share the budget" if self.has_limit else ""
        return [*forecast_lines(self.forecast), f"{agents}{shared}: {', '.join(self.plans)}."]

    def require_consent(self, *, yes: bool) -> None:
        """Raise SettingsError unless the caller agreed to the cost, or wrote all the code that spends."""
        own_code = all(
            runs_only_own_code(plan.inputs, plan.runnable_parts()[0].panel_a.tasks) for plan in self.plans.values()
        )
        require_consent(self.lines()[0], agreed=yes or self.has_limit, own_code=own_code)


def make_matrix_plan(
    skill: Skill | str | os.PathLike[str],
    inputs: Inputs,
    agents: AgentInputs | None,
    given: dict[str, object],
    *,
    max_drop: float,
    run_dir: Path | None = None,
    default_dir: Callable[[str], Path] | None = None,
    fresh: bool = False,
) -> MatrixPlan:
    """The plan of a matrix: `inputs` holds tasks and verifier, `agents` is None where a file of settings lists them."""
    notes: list[str] = []
    if inputs.verifier_spec is not None:
        given = {**given, "verifier": inputs.verifier_spec}
    compiled = compile(skill, **compiler_settings(given))
    given = {**compiled.settings, **given}
    settings = load_settings(compiled.path, given)
    named = name_agents(settings.agents if agents is None else agents)
    if inputs.tasks is None:
        raise SettingsError("a matrix needs tasks.", hint="Pass tasks=.")
    if settings.max_rollouts is not None and settings.max_rollouts < len(named):
        raise SettingsError(
            f"--max-rollouts {settings.max_rollouts} is less than one rollout for each of {len(named)} agents.",
            hint="The forecast of 'skillsv plan' says what one agent needs.",
        )
    place = choose_place(compiled.path, compiled.name, run_dir, default_dir)
    notes += place.notes
    places = {name: place.folder.path / AGENTS / agent_folder(name) for name in named}
    share = Limits.of(settings).divide(settings, len(named))
    recorded = None if fresh else recorded_result_settings(RunFolder(next(iter(places.values()))), compiled.compiled)
    # The share of one agent decides whether its budget is small, so the operators follow from it.
    one = load_settings(
        compiled.path, {**given, "max_rollouts": share.max_rollouts}, note=notes.append, recorded=recorded
    )
    notes += [f"Note: {note}" for note in small_settings(settings)]
    share = replace(share, operators=one.operators, agents=(), at_once=False)
    if settings.at_once:
        # One spending tracker counts for all agents: only the rollouts, which decide what is asked, are divided.
        share = replace(
            share,
            max_tokens=settings.max_tokens,
            budget_usd=settings.budget_usd,
            max_seconds=settings.max_seconds,
        )
        notes.append(AT_ONCE)
    plans = {
        name: _plan_agent(compiled, replace(inputs, agent=agent), share, places[name], fresh=fresh)
        for name, agent in named.items()
    }
    require_different({name: plan.runnable_parts()[0].agent for name, plan in plans.items()})
    return MatrixPlan(
        skill=compiled,
        settings=replace(settings, operators=one.operators),
        plans=plans,
        folder=place.folder.path,
        max_drop=max_drop,
        notes=(*notes, *dict.fromkeys(note for plan in plans.values() for note in plan.notes)),
        temporary=place.temporary,
    )


def name_agents(agents: AgentInputs) -> dict[str, AgentInput]:
    """The agents by name: a text is its own name, a function has its own. Raises SettingsError for fewer than two."""
    if isinstance(agents, str) or not isinstance(agents, Mapping | Sequence):
        raise SettingsError("several agents are a list, or a dict by name.", hint="Pass agents=[one, other].")
    pairs = (
        list(agents.items())
        if isinstance(agents, Mapping)
        else [(str(Inputs(agent=agent).agent_spec), agent) for agent in agents]
    )
    named = dict(pairs)
    twice = next((agent for agent in agents if isinstance(agent, str) and list(agents).count(agent) > 1), None)
    if twice is not None:
        raise SettingsError(
            f"{twice} is listed twice.", hint="List each agent once: --agents model:openai:A,model:openai:B."
        )
    if len(named) < len(pairs):
        raise SettingsError("two agents have the same name.", hint="Pass a dict: agents={'one': ..., 'other': ...}.")
    if len(named) < 2:
        raise SettingsError(
            "two agents or more are needed here.", hint="Name them: --agents model:openai:A,model:openai:B."
        )
    return named


def agent_folder(name: str) -> str:
    """The name of an agent's run folder inside the folder of the matrix."""
    return f"{folder_name(name)[:NAME_CHARACTERS]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def with_limits(plan: Plan, settings: Settings) -> Plan:
    """The plan of one agent with its share of what is left."""
    prepared, folder = plan.runnable_parts()
    limits = {name: getattr(settings, name) for name in ("max_rollouts", "max_tokens", "budget_usd", "max_seconds")}
    job = replace(prepared.job, settings=replace(prepared.job.settings, **limits))
    return plan_job(job, plan.inputs, run_dir=folder.path)


def _plan_agent(skill: Skill, inputs: Inputs, settings: Settings, place: Path, *, fresh: bool) -> Plan:
    assert inputs.agent_spec is not None
    job = ValuationJob(
        skill=skill.path,
        tasks=inputs.path,
        agent=inputs.agent_spec,
        settings=settings,
        folder=Path.cwd(),
        task_source=inputs.source(),
        compiled=skill.compiled,
    )
    plan = plan_job(job, inputs, run_dir=place, fresh=fresh)
    plan.require_runnable()
    return plan


def require_different(agents: Mapping[str, Agent]) -> None:
    """Raise SettingsError where the ledger could not tell two agents apart: one would get the answers of the other."""
    names: dict[str, str] = {}
    for name, agent in agents.items():
        if agent.fingerprint in names:
            raise SettingsError(
                f"{names[agent.fingerprint]} and {name} are the same agent: nothing tells their answers apart.",
                hint="Functions that the same code makes look alike: write one for each, or pass objects with "
                "`fingerprint` and `run`.",
            )
        names[agent.fingerprint] = name


def sum_costs(costs: Iterable[Cost]) -> Cost:
    """The sum of costs; unknown where one of them is."""
    found = list(costs)

    def total(numbers: list[float | None]) -> float | None:
        known = [number for number in numbers if number is not None]
        return sum(known) if len(known) == len(numbers) else None

    tokens = total([cost.tokens for cost in found])
    return Cost(
        rollouts=sum(cost.rollouts for cost in found),
        tokens=None if tokens is None else int(tokens),
        usd=total([cost.usd for cost in found]),
        seconds=total([cost.seconds for cost in found]),
    )
