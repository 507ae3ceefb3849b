"""A judge's opinion on every unit: one question each, one number in the answer. Runs rollouts of the judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from skillsv.agents import make_agent
from skillsv.confirmation.baselines import judge_ranking, judge_tasks, read_score
from skillsv.errors import SettingsError, VerifierFailure
from skillsv.model.coalition import Operator
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Ending, Outcome, Request, RequestScores
from skillsv.model.task import Task
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.job import PreparedRun
from skillsv.pipeline.session import Session, open_runner, runner_options
from skillsv.pipeline.shrink_spending import JUDGE, ShrinkSpending
from skillsv.rollout import Policy, RunFolder, Stop
from skillsv.sandbox.user_function import load_code
from skillsv.settings import Settings


async def ask_opinions(
    prepared: PreparedRun,
    folder: RunFolder,
    settings: Settings,
    listener: Listener,
    stop: Stop | None,
    *,
    spent: ShrinkSpending,
) -> Mapping[str, float]:
    """One number from 0 to 1 for every unit, by the agent of `--judge`. The ledger keeps the answers."""
    if not settings.judge:
        raise SettingsError("the judge's opinion needs a judge.", hint="Name an agent with --judge.")
    tasks = judge_tasks(prepared.compiled)
    requests = {unit: request_judgement(task) for unit, task in tasks.items()}
    judge = make_client(make_agent, settings.judge, settings, prepared.job.folder)
    load_code(judge)  # a function is called with as many arguments as it takes
    session = Session(
        job=replace(prepared.job, settings=settings),
        agent=judge,
        verifier=ScoreReader(),
        tasks=tuple(tasks.values()),
        render=prepared.renderer.render,
        folder=folder,
        options=runner_options(settings, f"{folder.run_id}-baselines", spent.progress),
    )
    async with open_runner(session, listener, stop) as runner:
        with spent.counting(runner, JUDGE):
            (answers,) = await runner.run_policies([_request_all(tuple(requests.values()))])
    ranking = judge_ranking(prepared.compiled, {unit: answers[request] for unit, request in requests.items()})
    return {unit: interval.value for unit, interval in ranking.values.items()}


def _request_all(requests: tuple[Request, ...]) -> Policy[RequestScores]:
    answers = yield requests
    return answers


def request_judgement(task: Task) -> Request:
    """A rollout without the skill: the question to the judge holds all that it needs."""
    return Request(coalition=frozenset(), operator=Operator.DELETE, task=task.id, why="baseline:judge")


class ScoreReader:
    """The verifier of a judge's answers: the score is the number that the judge wrote."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The number in the judge's answer, as a share."""
        del workspace
        if outcome.ending is Ending.CUT:
            raise VerifierFailure(f"the token limit cut the judge's answer to {task.id}.")
        score = read_score(outcome.answer)
        if score is None:
            raise VerifierFailure(f"the judge's answer to {task.id} holds no number from 0 to 100.")
        return score
