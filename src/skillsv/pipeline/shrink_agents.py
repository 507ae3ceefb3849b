"""One shorter skill for several agents: first batches, plan, values, choice, proofs, from one budget. Runs rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import anyio
import msgspec

from skillsv.confirmation.power import LEAST_POWER
from skillsv.errors import LowPower, SkillSVError
from skillsv.model.coalition import AgentPrior
from skillsv.model.edit import ProofOutcome
from skillsv.model.events import Note, RunFinished, RunStarted
from skillsv.model.format import plural
from skillsv.model.protocols import Listener
from skillsv.model.shrink_document import ShrinkAgentDocument, ShrinkDocument, ShrinkSetDocument
from skillsv.pipeline import shrink_advice
from skillsv.pipeline.confirm import store_proof
from skillsv.pipeline.matrix import prior_of
from skillsv.pipeline.proof_sizes import RETRIES, ProofSizes, identify_shrink
from skillsv.pipeline.publish import publish
from skillsv.pipeline.run import Run, build_run, read_manifest
from skillsv.pipeline.shared_choice import AgentEvidence, choose_shared_sets
from skillsv.pipeline.shared_proof import AgentProofs, SetProofs, divide_rollouts, named_step, prove_for_all
from skillsv.pipeline.shrink import END_OF_LOW_POWER, LOW_ODDS, ShrinkSteps
from skillsv.pipeline.shrink_attempts import CHOICE_STREAM
from skillsv.pipeline.shrink_documents import SHRINK_FILE, set_dict, stopped_document
from skillsv.pipeline.shrink_plan import ShrinkPlan, first_batch_size, plan_by_values, plan_proof, read_first_batch
from skillsv.pipeline.shrink_preparation import PreparedShrink
from skillsv.pipeline.shrink_proof import NewVersion, as_panel_proof
from skillsv.pipeline.shrink_spending import ShrinkSpending, SpentRollouts
from skillsv.rollout import RunFolder, Stop

Steps = Mapping[str, ShrinkSteps]
"""The steps of each agent by its name."""

Plans = Mapping[str, ShrinkPlan]
"""How the share of each agent is divided, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentShrink:
    """One of several agents: its prepared shrink, which has its share of the budget, and the folder of its run."""

    shrink: PreparedShrink
    folder: RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedShrinkResult:
    """The outcome for all agents. `version` is what was shown to be no worse for each, None where nothing was."""

    document: ShrinkDocument
    runs: Mapping[str, Run]
    version: NewVersion | None


def joint_power(plans: Plans) -> float:
    """The chance to prove a set that loses nothing for every agent: their rollouts are separate."""
    return prod(plan.power for plan in plans.values())


def plan_lines(plans: Plans) -> list[str]:
    """What can be proven for each agent, and for all of them, in sentences."""
    together = f"For all {plural(len(plans), 'agent')} together that is {shrink_advice.odds(joint_power(plans))} power."
    return [*(f"{name}: {shrink_advice.plan_lines(plan)[0]}" for name, plan in plans.items()), together]


def advice(plans: Plans) -> str:
    """What would help where the power for all agents is too small: what helps the agent with the least."""
    return shrink_advice.advice(_weakest(plans), agents=len(plans))


def _weakest(plans: Plans) -> ShrinkPlan:
    """The plan of the agent with the least power."""
    return min(plans.values(), key=lambda plan: plan.power)


async def run_shared_shrink(
    agents: Mapping[str, AgentShrink], top: RunFolder, listener: Listener, stop: Stop | None
) -> SharedShrinkResult:
    """Spend the budget and return what it shows. The same command again resumes and pays for nothing twice.

    Raises NoDifference where the skill makes no difference to one of the agents, and LowPower where the measured
    noise leaves the proofs together less than even odds; both before most of the budget is spent.
    """
    budget = sum(agent.shrink.goal.rollouts for agent in agents.values())
    rollouts, started = SpentRollouts(limit=budget), anyio.current_time()
    identity = identify_shrink([agent.shrink for agent in agents.values()])
    steps = {
        name: ShrinkSteps(
            agent.shrink,
            agent.folder,
            listener,
            stop,
            ShrinkSpending(rollouts=rollouts, started=started),
            ProofSizes(folder=agent.folder, identity=f"{identity}-{name}"),
        )
        for name, agent in agents.items()
    }
    listener(RunStarted(run=top.path.name, chains=0, expected_rollouts=budget))
    try:
        result = await _run_steps(steps, budget, listener)
    except SkillSVError as error:
        listener(RunFinished(reason=END_OF_LOW_POWER if isinstance(error, LowPower) else error.what))
        if error.document is None:
            error.document = _stopped(steps, budget, error)
        raise
    top.write(SHRINK_FILE, msgspec.json.format(msgspec.json.encode(result.document), indent=2))
    listener(RunFinished(reason="done"))
    return result


async def _run_steps(steps: Steps, budget: int, listener: Listener) -> SharedShrinkResult:
    asked = await _ask_first(steps, listener)
    plans = {name: one.plan for name, one in asked.items()}
    notes = plan_lines(plans)
    for line in notes:
        listener(Note(message=line))
    first = next(iter(steps.values()))
    if joint_power(plans) < LEAST_POWER and not first.shrink.options.keep_going:
        raise _low_power(steps, asked, budget, notes)
    runs: dict[str, Run] = {}
    for number, name in enumerate(steps):
        with named_step(name, f"Values for agent {number + 1} of {len(steps)}: {name}.", listener):
            runs[name] = await _value(steps[name], plans[name], list(runs.values()))
    shown = _plan_proofs(steps, plans, runs, budget)
    seed = first.shrink.prepared.job.settings.seed
    sets = choose_shared_sets(list(shown.values()), [seed, CHOICE_STREAM])
    run = next(iter(runs.values()))
    versions = [await first.make_version(run, one.worst, spare=number > 0) for number, one in enumerate(sets)]
    proofs = [AgentProofs(name=name, steps=steps[name], run=runs[name], shown=shown[name]) for name in steps]
    left = _left(steps, runs, budget)
    found = await prove_for_all(proofs, sets, versions, left)
    for agent in proofs:
        _publish(agent, found)
    document = _document(proofs, plans, found, budget=budget, notes=[*notes, *first.notes])
    return SharedShrinkResult(document=document, runs=runs, version=_passed(found))


def _passed(found: Sequence[SetProofs]) -> NewVersion | None:
    """The version that is shown to be no worse for every agent."""
    return next((one.version for one in found if one.outcome is ProofOutcome.NO_WORSE), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedFirst:
    """The plan of one agent after its first batch, with the noise and the size of that batch."""

    plan: ShrinkPlan
    noisy: bool
    rollouts: int


async def _ask_first(steps: Steps, listener: Listener) -> Mapping[str, _AskedFirst]:
    """Run the first batch of every agent, before any agent spends more, and plan by its noise."""
    asked: dict[str, _AskedFirst] = {}
    for number, (name, mine) in enumerate(steps.items()):
        with named_step(name, f"First batch of agent {number + 1} of {len(steps)}: {name}.", listener):
            tasks = len(mine.shrink.prepared.panel_a.tasks)
            result = await mine.estimate(first_batch_size(tasks))
            batch = mine.read_batch(result)
            await mine.require_difference(batch)
            goal = replace(mine.shrink.goal, rollouts=mine.shrink.goal.rollouts - mine.asked_again)
            mine.measured = plan = plan_by_values(goal, tasks, len(mine.shrink.proof_tasks), batch)
            rollouts = len(result.observations) + mine.asked_again
            asked[name] = _AskedFirst(plan=plan, noisy=batch.noisy, rollouts=rollouts)
    return asked


def _low_power(steps: Steps, asked: Mapping[str, _AskedFirst], budget: int, notes: Sequence[str]) -> LowPower:
    """The error that ends a shrink where the proofs together would fail more often than not."""
    plans = {name: one.plan for name, one in asked.items()}
    reason = f"{' '.join(plan_lines(plans))} {LOW_ODDS}"
    spent = sum(one.rollouts for one in asked.values())
    document = stopped_document(
        next(iter(steps.values())).shrink,
        power=joint_power(plans),
        noisy=any(one.noisy for one in asked.values()),
        rollouts={"budget": budget, "values": spent, "trials": 0, "proof": 0},
        notes=notes,
        stopped={"reason": reason, "would_help": shrink_advice.would_help(_weakest(plans), agents=len(plans))},
    )
    document["agents"] = [
        {
            "name": name,
            "spec": steps[name].shrink.prepared.job.agent,
            "folder": str(steps[name].folder.path),
            "noisy": one.noisy,
            "power": one.plan.power,
            "sets": [],
            "cost": None,
            "rollouts": {"budget": one.plan.goal.rollouts, "values": one.rollouts, "trials": 0, "proof": 0},
        }
        for name, one in asked.items()
    ]
    return LowPower(reason, hint=advice(plans), document=document)


def _stopped(steps: Steps, budget: int, error: SkillSVError) -> ShrinkDocument:
    """The result where an error ended the shrink, with what was spent on each agent."""
    parts = {name: one.stopped(error) for name, one in steps.items()}
    spent = [part["rollouts"] for part in parts.values()]
    first = next(iter(parts.values()))
    return {
        **first,
        "noisy": any(part["noisy"] for part in parts.values()),
        "power": prod(part["power"] for part in parts.values()),
        "rollouts": {
            "budget": budget,
            "values": sum(part["values"] for part in spent),
            "trials": 0,
            "proof": sum(part["proof"] for part in spent),
        },
        "agents": [
            {
                "name": name,
                "spec": steps[name].shrink.prepared.job.agent,
                "folder": str(steps[name].folder.path),
                "noisy": part["noisy"],
                "power": part["power"],
                "sets": [],
                "cost": None,
                "rollouts": part["rollouts"],
            }
            for name, part in parts.items()
        ],
    }


async def _value(steps: ShrinkSteps, plan: ShrinkPlan, earlier: Sequence[Run]) -> Run:
    """Run the rollouts for values of one agent, with what the agents before it showed."""
    prepared = replace(steps.shrink.prepared, prior=_prior(steps, earlier))
    steps.shrink = replace(steps.shrink, prepared=prepared)
    result = await steps.estimate(plan.estimate)
    return build_run(prepared.renderer, steps.value_settings(plan.estimate), read_manifest(steps.folder), result)


def _prior(steps: ShrinkSteps, earlier: Sequence[Run]) -> AgentPrior:
    """What earlier agents showed. The first batch does not depend on it; a run that went on keeps what it had."""
    batch = first_batch_size(len(steps.shrink.prepared.panel_a.tasks))
    if len(steps.folder.read_records().observations) > batch:
        return steps.folder.prior()
    prior = prior_of(earlier)
    steps.folder.keep_prior(prior)
    return prior


def _plan_proofs(steps: Steps, plans: Plans, runs: Mapping[str, Run], budget: int) -> dict[str, AgentEvidence]:
    """Fix the sizes of the proofs by what is left for them. A steady agent needs no task twice."""
    batches = {name: read_first_batch(run.compiled, run.observations) for name, run in runs.items()}
    left = _left(steps, runs, budget)
    most = [
        left if batch.noisy or steps[name].shrink.goal.same_tasks else 2 * len(steps[name].shrink.proof_tasks)
        for name, batch in batches.items()
    ]
    found: dict[str, AgentEvidence] = {}
    for (name, batch), rollouts in zip(batches.items(), divide_rollouts(left, most), strict=True):
        goal = replace(plans[name].goal, rollouts=plans[name].estimate + rollouts)
        run = runs[name]
        found[name] = AgentEvidence(
            evidence=steps[name].evidence(run, None),
            units=run.valuation.units,
            plan=plan_proof(replace(plans[name], goal=goal), batch, len(steps[name].shrink.proof_tasks)),
            noisy=batch.noisy,
        )
    return found


def _left(steps: Steps, runs: Mapping[str, Run], budget: int) -> int:
    """The rollouts that first batches, values and retries leave for the proofs."""
    first = next(iter(steps.values()))
    retries = first.sizes.keep(RETRIES, first.spent.rollouts.retries)  # of all agents together
    values = sum(len(run.observations) + steps[name].asked_again for name, run in runs.items())
    return max(budget - retries - values, 0)


def _publish(agent: AgentProofs, found: Sequence[SetProofs]) -> None:
    """Write valuation, page and proofs into the folder of the agent's run."""
    folder = agent.steps.folder
    if not agent.steps.shrink.goal.same_tasks:  # the page calls the tasks of a proof held out
        for one in found:
            if agent.name in one.results:
                store_proof(folder, one.version.after.digest, as_panel_proof(one.results[agent.name]))
    publish(folder, agent.run)


def _document(
    agents: Sequence[AgentProofs],
    plans: Plans,
    found: Sequence[SetProofs],
    *,
    budget: int,
    notes: Sequence[str],
) -> ShrinkDocument:
    """The result as `skillsv.shrink/1`, with a part for each agent."""
    run, goal, passed = agents[0].run, agents[0].shown.plan.goal, _passed(found)
    outcomes = [one.outcome.value for one in found if one.outcome is not None]
    total = run.renderer.total_tokens
    return {
        "schema": "skillsv.shrink/1",
        "skill": run.compiled.skill.name,
        "outcome": outcomes[-1] if outcomes else "nothing to remove",  # type: ignore[typeddict-item]
        "claim": "these tasks" if goal.same_tasks else "tasks like these",
        "max_drop": goal.gate.max_drop,
        "units": len(run.compiled.execution),
        "removed": [] if passed is None else list(passed.removed),
        "refined": passed is not None and passed.renderer is not None,
        "tokens_before": total,
        "tokens_after": total if passed is None else passed.tokens,
        "noisy": any(agent.shown.noisy for agent in agents),
        "power": joint_power(plans),
        "sets": [_shared_set(one) for one in found],
        "cost": None,
        "rollouts": {
            "budget": budget,
            "values": sum(len(agent.run.observations) + agent.steps.asked_again for agent in agents),
            "trials": 0,
            "proof": sum(agent.proof.used() for agent in agents),
        },
        "notes": list(notes),
        "agents": [_agent(agent, plans[agent.name], found, place) for place, agent in enumerate(agents)],
    }


def _shared_set(one: SetProofs) -> ShrinkSetDocument:
    worst = set_dict(one.chosen.worst, one.version, one.worst)
    return {**worst, "power": one.chosen.power, "outcome": None if one.outcome is None else one.outcome.value}


def _agent(agent: AgentProofs, plan: ShrinkPlan, found: Sequence[SetProofs], place: int) -> ShrinkAgentDocument:
    sets = [set_dict(one.chosen.for_each[place], one.version, one.results.get(agent.name)) for one in found]
    return {
        "name": agent.name,
        "spec": agent.steps.shrink.prepared.job.agent,
        "folder": str(agent.steps.folder.path),
        "noisy": agent.shown.noisy,
        "power": plan.power,
        "sets": [
            {"power": row["power"], "predicted": row["predicted"], "outcome": row["outcome"], "proof": row["proof"]}
            for row in sets
        ],
        "cost": agent.cost,
        "rollouts": {
            "budget": agent.steps.shrink.goal.rollouts,
            "values": len(agent.run.observations) + agent.steps.asked_again,
            "trials": 0,
            "proof": agent.proof.used(),
        },
    }
