"""The proof of `skillsv check`: the base version of a skill against the new one, in pairs, through a ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skillsv.confirmation.gate import Gate
from skillsv.confirmation.paired_proof import Pair, pairs_in_turn
from skillsv.confirmation.sequential_proof import REASON, SequentialProof, SequentialResult
from skillsv.errors import NoDifference, SkillSVError
from skillsv.model.coalition import Coalition, Operator, Rendering
from skillsv.model.edit import ProofOutcome
from skillsv.model.events import RunFinished, RunStarted
from skillsv.model.format import plural
from skillsv.model.protocols import Agent, Listener, Verifier
from skillsv.model.rollout import Request, RequestScores, Usage
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import Task
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.cost import CostListener, measured_cost, require_measurable_budget
from skillsv.pipeline.job import ValuationJob, grading_of, load_job_tasks, make_renderer
from skillsv.pipeline.session import Session, open_runner, runner_options
from skillsv.rendering import Renderer
from skillsv.rollout import PerRollout, Policy, RunFolder, Runner, Stop
from skillsv.rollout.forecast import Cost, cost_of
from skillsv.sandbox.user_function import load_code

OLD: Coalition = frozenset({"the base version"})
"""Stands for the whole base version in requests."""

NEW: Coalition = frozenset({"the new version"})
"""Stands for the whole new version in requests."""

BARE: Coalition = frozenset()
"""No skill at all."""

ORDER_STREAM = 19
"""Random stream of the order of the tasks."""

LEAST_BARE = 8
"""Tasks on which the bare agent is run where no score differs, to see whether the skill matters at all."""

MOST_BARE = 24
"""Tasks on which the bare agent is run at most."""

BARE_SHARE = 10
"""The tasks of the bare agent take at most one rollout in so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedProof:
    """A proof that is planned: agent, verifier, tasks, pairs in their order, and what must be shown.

    `base` is None for a new skill: it is compared with no skill at all. `bare` are the tasks on which no skill is run
    where no score differs.
    """

    job: ValuationJob
    base: CompiledSkill | None
    new: CompiledSkill
    agent: Agent
    verifier: Verifier
    tasks: tuple[Task, ...]
    pairs: tuple[Pair, ...]
    bare: tuple[str, ...]
    gate: Gate
    folder: RunFolder
    measured: PerRollout
    same_tasks: bool = False
    keep_going: bool = False

    @property
    def cost(self) -> Cost:
        """What the proof takes at most, as far as rollouts of this agent were measured."""
        return cost_of(self.rollouts, self.measured, jobs=self.job.settings.jobs)

    @property
    def proof(self) -> SequentialProof:
        """The proof of the new version against the old one."""
        return SequentialProof(old=OLD, new=NEW, pairs=self.pairs, gate=self.gate, same_tasks=self.same_tasks)

    @property
    def rollouts(self) -> int:
        """The rollouts of this proof at most."""
        return 2 * len(self.pairs) + len(self.bare)


def prepare_proof(
    job: ValuationJob,
    base: CompiledSkill | None,
    folder: RunFolder,
    gate: Gate,
    *,
    rollouts: int,
    same_tasks: bool = False,
    keep_going: bool = False,
) -> PreparedProof:
    """Read the tasks, make the agent, plan the pairs that so many rollouts pay for. Runs and writes nothing."""
    assert job.compiled is not None
    tasks = tuple(load_job_tasks(job, job.compiled, *([] if base is None else [base])))
    agent = make_client(job.task_source.make_agent, job.agent, job.settings, job.folder)
    measured = measured_cost(folder, agent.fingerprint)
    require_measurable_budget(job, measured)
    order = np.random.default_rng([job.settings.seed, ORDER_STREAM]).permutation(len(tasks))
    names = [tasks[place].id for place in order.tolist()]
    bare = min(MOST_BARE, rollouts // BARE_SHARE, len(tasks))
    bare = bare if bare >= min(LEAST_BARE, len(tasks)) else 0
    return PreparedProof(
        job=job,
        base=base,
        new=job.compiled,
        agent=agent,
        verifier=job.task_source.make_verifier(job.tasks_path, tasks, grading_of(job)),
        tasks=tasks,
        pairs=tuple(pairs_in_turn(names, (rollouts - bare) // 2)),
        bare=tuple(names[:bare]),
        gate=gate,
        folder=folder,
        measured=measured,
        same_tasks=same_tasks,
        keep_going=keep_going,
    )


@dataclass(slots=True, kw_only=True)
class ProofSpending:
    """What a proof has run, reused and paid so far. It holds also where the proof ends by an error."""

    new: int = 0
    reused: int = 0
    usage: Usage | None = None


async def run_proof(
    prepared: PreparedProof, spending: ProofSpending, listener: Listener, stop: Stop | None
) -> SequentialResult:
    """Run the pairs until a verdict is shown. The same proof again takes everything from the ledger.

    Raises NoDifference where no score differs, not even without any skill: then the tasks do not test the skill.
    """
    load_code(prepared.agent, prepared.verifier)
    settings = replace(prepared.job.settings, max_rollouts=max(prepared.rollouts, 1))
    session = Session(
        job=replace(prepared.job, settings=settings),
        agent=prepared.agent,
        verifier=prepared.verifier,
        tasks=prepared.tasks,
        render=_Render(
            None if prepared.base is None else make_renderer(prepared.base, settings),
            make_renderer(prepared.new, settings),
        ),
        folder=prepared.folder,
        options=runner_options(settings, REASON),
    )
    listener = CostListener(listener, settings, prepared.rollouts)
    listener(RunStarted(run=prepared.folder.path.name, chains=0, expected_rollouts=prepared.rollouts))
    try:
        async with open_runner(session, listener, stop) as runner:
            try:
                (result,) = await runner.run_policies([prepared.proof.run()])
                await _require_difference(prepared, result, runner)
            finally:
                spent = runner.spending
                spending.new, spending.reused, spending.usage = spent.spent, spent.reused, runner.usage
    except SkillSVError as error:
        listener(RunFinished(reason=error.what))
        raise
    listener(RunFinished(reason="done"))
    return result


async def _require_difference(prepared: PreparedProof, result: SequentialResult, runner: Runner) -> None:
    """Raise NoDifference where versions and bare agent score the same on every task that was run."""
    same = all(row.old == row.new for row in result.tasks)
    if result.outcome is not ProofOutcome.NO_WORSE or not same or not prepared.bare or prepared.keep_going:
        return
    requests = tuple(Request(coalition=BARE, operator=Operator.DELETE, task=task, why=REASON) for task in prepared.bare)
    (bare,) = await runner.run_policies([_ask(requests)])
    scores = {row.task: row.old for row in result.tasks}
    known = [(score, scores.get(request.task)) for request, score in bare.items() if score is not None]
    if known and all(score == full for score, full in known):
        raise NoDifference(
            f"the skill made no difference to the agent on {plural(len(known), 'task')}: without any skill it scores "
            "the same, so these tasks cannot show what a change of the skill does.",
            hint="Check that the agent reads the skill, or choose other tasks. --keep-going accepts it.",
            examples=(),
        )


def _ask(requests: tuple[Request, ...]) -> Policy[RequestScores]:
    return (yield requests)


@dataclass(frozen=True, slots=True)
class _Render:
    """Renders the two versions as wholes, with or without a null change; and nothing, for the bare agent."""

    base: Renderer | None
    new: Renderer

    def __call__(self, coalition: Coalition, operator: Operator, null_change: int = 0, /) -> Rendering:
        renderer = self.base if coalition == OLD else self.new
        if renderer is None or coalition == BARE:
            return self.new.render(BARE, operator)
        return renderer.render(renderer.compiled.everything, operator, null_change)
