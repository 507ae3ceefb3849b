"""Scores of whole versions of a skill on any tasks. Runs rollouts through the ledger of a run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillsv.model.coalition import Operator, Rendering
from skillsv.model.events import RunFinished, RunStarted
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.task import Task
from skillsv.pipeline.cost import CostListener
from skillsv.pipeline.job import PreparedRun
from skillsv.pipeline.run import ReopenedRun
from skillsv.pipeline.session import Session, open_runner, runner_options
from skillsv.rollout import Policy, RunFolder, Stop
from skillsv.sandbox.user_function import load_code

VersionScores = Mapping[str, Sequence[float | None]]
"""The scores of each version by its name, in the order of the tasks; None where a rollout failed."""


async def score_renderings(  # noqa: PLR0917 - the versions and tasks, then the parts of a run in the order they act
    renderings: Mapping[str, Rendering],
    tasks: Sequence[Task],
    source: PreparedRun | ReopenedRun,
    folder: RunFolder,
    listener: Listener,
    stop: Stop | None,
    *,
    purpose: str,
) -> VersionScores:
    """Score all versions on all tasks with the agent and the verifier of `source`.

    `purpose` names the rollouts in the ledger: they do not count as rollouts of a valuation.
    """
    job, expected = source.job, len(renderings) * len(tasks)
    by_coalition = {frozenset({name}): rendering for name, rendering in renderings.items()}
    load_code(source.agent, source.verifier)
    session = Session(
        job=job,
        agent=source.agent,
        verifier=source.verifier,
        tasks=tasks,
        render=lambda coalition, _operator, _null_change=0: by_coalition[coalition],
        folder=folder,
        options=runner_options(job.settings, purpose),
    )
    listener = CostListener(listener, job.settings, expected)
    listener(RunStarted(run=folder.path.name, chains=0, expected_rollouts=expected))
    async with open_runner(session, listener, stop) as runner:
        (scores,) = await runner.run_policies([_score_all(tuple(renderings), tasks, purpose)])
    listener(RunFinished(reason="done"))
    return scores


def _score_all(names: Sequence[str], tasks: Sequence[Task], purpose: str) -> Policy[VersionScores]:
    """The policy that runs every version on every task."""
    requests = {name: [_request(name, task, purpose) for task in tasks] for name in names}
    answers: RequestScores = yield tuple(request for row in requests.values() for request in row)
    return {name: [answers[request] for request in row] for name, row in requests.items()}


def _request(name: str, task: Task, purpose: str) -> Request:
    return Request(coalition=frozenset({name}), operator=Operator.DELETE, task=task.id, why=purpose)
