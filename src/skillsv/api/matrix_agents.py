"""The runs of a matrix's agents: one after another, or all at the same time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import anyio

from skillsv.api.matrix_plan import Limits, MatrixPlan, with_limits
from skillsv.api.plan import Plan
from skillsv.api.run import Run, load_run, run_plan
from skillsv.errors import BudgetReached, Interrupted, RecordsError, SkillSVError, Unavailable
from skillsv.model.coalition import AgentPrior
from skillsv.model.events import (
    AgentStarted,
    Event,
    Note,
    RolloutFinished,
    RolloutRetried,
    RunFinished,
    RunStarted,
    UnitsDecided,
)
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Usage
from skillsv.pipeline.job import make_manifest
from skillsv.pipeline.matrix import prior_of, with_prior
from skillsv.pipeline.session import SharedSession, open_shared
from skillsv.rollout import RunFolder, Stop, run_id

AgentResults = dict[str, Run | SkillSVError]
"""The run of each agent by name, or the error that left it without values."""

ENDS_ONE_AGENT = (BudgetReached, Interrupted, Unavailable)
"""Errors after which the other agents still have values; others end the matrix."""


async def run_in_turn(plan: MatrixPlan, listener: Listener, stop: Stop | None, *, keep_going: bool) -> AgentResults:
    """Run one agent after another. Each begins with what the ones before it showed, and has a share of what is left."""
    limits, results = Limits.of(plan.settings), AgentResults()
    for number, (name, agent_plan) in enumerate(plan.plans.items()):
        last = next(reversed(results.values()), None)
        if isinstance(last.error if isinstance(last, Run) else last, Interrupted):
            results[name] = Interrupted("The matrix was interrupted before this agent.")
            continue
        waiting = len(plan.plans) - number
        if limits.rollouts is not None and limits.rollouts < waiting:
            results[name] = result_without_budget(agent_plan, plan.settings.max_rollouts)
            continue
        listener(AgentStarted(agent=name))
        listener(Note(message=f"Agent {number + 1} of {len(plan.plans)}: {name}."))
        share = limits.divide(plan.settings, waiting)
        begun = anyio.current_time()
        spent = _SpentByAgent(listener=listener, counts_reused=plan.settings.method == "auto")
        try:
            current = with_limits(agent_plan, share)
            prior = prior_of([run.stored for run in results.values() if isinstance(run, Run)])
            current = replace(current, prepared=with_prior(*current.runnable_parts(), prior))
            results[name] = await run_plan(current, spent, stop, keep_going=keep_going)
        except ENDS_ONE_AGENT as error:
            results[name] = error
        limits = limits.minus(spent.rollouts, spent.usage, anyio.current_time() - begun)
    return results


def result_without_budget(plan: Plan, limit: int | None) -> Run | BudgetReached:
    """What an agent has for which no budget is left: the result of an earlier session, or none."""
    error = BudgetReached(
        f"the budget of {limit:,} rollouts was used up before this agent.",
        hint="The partial result is kept; raise the limit to go on from here.",
    )
    prepared, folder = plan.runnable_parts()
    if folder.run_id != run_id(make_manifest(prepared)):
        return error
    try:
        run = load_run(folder.path)
    except RecordsError:
        return error
    return replace(
        run, error=error if run.valuation.provisional else None, inputs=plan.inputs, temporary=plan.temporary
    )


@dataclass(slots=True, kw_only=True)
class _SpentByAgent:
    """Counts what one agent takes of the limits, whatever becomes of its run, and passes events on.

    An answer counts once, however often it is asked for, and so does each attempt that failed. With `counts_reused`,
    so do answers that an earlier session paid for: the path of an adaptive run depends on its share, which is then the
    same when it goes on. The share of chains only says how many are paid for now.
    """

    listener: Listener
    counts_reused: bool
    retries: int = 0
    answers: set[tuple[str, str, int]] = field(default_factory=set)
    usage: Usage = field(default_factory=Usage)

    @property
    def rollouts(self) -> int:
        """The rollouts that this agent takes of the limit."""
        return self.retries + len(self.answers)

    def __call__(self, event: Event) -> None:
        self.listener(event)
        if isinstance(event, RolloutRetried):
            self.retries += 1
        elif isinstance(event, RolloutFinished):
            if self.counts_reused or not event.reused:
                self.answers.add((event.tree, event.task, event.replicate))
            if not event.reused:
                self.usage += event.usage


async def run_at_once(plan: MatrixPlan, listener: Listener, stop: Stop | None, *, keep_going: bool) -> AgentResults:
    """Run all agents at the same time: they share slots, ledger, budget and cluster, and tell each other nothing."""
    stop = stop or Stop()
    results = AgentResults()
    plans = {name: _without_prior(agent_plan) for name, agent_plan in plan.plans.items()}
    prepared = [agent_plan.runnable_parts()[0] for agent_plan in plans.values()]
    expected = sum(run.forecast.expected.rollouts for run in prepared)
    chains = sum(len(run.plans) for run in prepared)
    events = _SharedEvents(listener)
    listener(RunStarted(run=plan.folder.name, chains=chains, expected_rollouts=expected))

    async def run_agent(name: str, agent_plan: Plan, shared: SharedSession) -> None:
        agent_events = _AgentEvents(name, events)
        try:
            results[name] = await run_plan(agent_plan, agent_events, stop, keep_going=keep_going, shared=shared)
        except SkillSVError as error:
            results[name] = error
            agent_events(Note(message=str(error)))
            if not isinstance(error, ENDS_ONE_AGENT):
                stop.request()  # the others finish what they have begun, which is paid for

    async with (
        open_shared(prepared, RunFolder(plan.folder), plan.settings, listener, stop) as shared,
        anyio.create_task_group() as group,
    ):
        for name, agent_plan in plans.items():
            group.start_soon(run_agent, name, agent_plan, shared)
    for result in results.values():
        if isinstance(result, SkillSVError) and not isinstance(result, ENDS_ONE_AGENT):
            raise result
    listener(RunFinished(reason="done"))
    return {name: results[name] for name in plan.plans}


def _without_prior(plan: Plan) -> Plan:
    """The plan of an agent that begins with nothing; a run that goes on keeps what it began with."""
    return replace(plan, prepared=with_prior(*plan.runnable_parts(), AgentPrior()))


class _SharedEvents:
    """Sums up how many units are decided for all agents, and passes events on."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self._decided: dict[str, UnitsDecided] = {}

    def decided(self, name: str, event: UnitsDecided) -> UnitsDecided:
        """What all agents together have decided."""
        self._decided[name] = event
        found = self._decided.values()
        return UnitsDecided(decided=sum(one.decided for one in found), units=sum(one.units for one in found))


@dataclass(frozen=True, slots=True)
class _AgentEvents:
    """The events of one agent among several: its notes bear its name, and its start and end are not those of all."""

    name: str
    shared: _SharedEvents

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                return
            case Note():
                event = Note(message=f"{self.name}: {event.message}")
            case RunFinished():
                event = Note(message=f"{self.name}: {event.reason.rstrip('.')}.")
            case UnitsDecided():
                event = self.shared.decided(self.name, event)
            case _:
                pass
        self.shared.listener(event)
