"""The rankings that pruning curves compare: SkillSV's own, and baselines on panel A at the price of the valuation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from skillsv.agents import make_agent
from skillsv.confirm.baselines import (
    closure_loo,
    closure_loo_requests,
    closure_loo_total,
    judge_ranking,
    judge_tasks,
    random_ranking,
    read_score,
)
from skillsv.confirm.pairs import partners_of
from skillsv.decide import pruning_path
from skillsv.errors import SettingsError, VerifierFailure
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.edit import PruneStep
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Answers, Ending, Outcome, Request
from skillsv.model.task import Task
from skillsv.model.value import Interval, Ranking
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.edit import tokens_of_kept
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.reopen import ReopenedRun, panel_a, spending
from skillsv.pipeline.run import Run
from skillsv.rollout import Policy, Stop
from skillsv.tasks import draw_window

METHODS = ("skillsv", "loo", "judge", "random")
RANDOM_ORDERS = 3
LOO_STREAM, RANDOM_STREAM = 11, 12
FEWEST_TASKS = 8
_ADDITIVE = frozenset({"skillsv", "judge"})
"""Values that add up over units that go together; leave-one-out counts dependants already, chance counts nothing."""


def skillsv_ranking(run: Run) -> Ranking:
    """The net effects of the run's valuation."""
    return Ranking(method="skillsv", values={unit.id: unit.value.net for unit in run.valuation.units})


def random_rankings(run: Run) -> list[Ranking]:
    """A few random rankings, the same for the same seed."""
    seeds = ([run.settings.seed, number, RANDOM_STREAM] for number in range(RANDOM_ORDERS))
    return [random_ranking(run.compiled, np.random.default_rng(seed)) for seed in seeds]


def loo_tasks(reopened: ReopenedRun) -> tuple[Task, ...]:
    """As many tasks of panel A as make leaving out as costly as the valuation was, at least a few."""
    panel = panel_a(reopened)
    run = reopened.run
    size = loo_panel(len(panel.tasks), len(run.compiled.execution), run.valuation.rollouts.spent)
    window = draw_window(panel, size, np.random.default_rng([run.settings.seed, LOO_STREAM]))
    return tuple(reopened.tasks[task] for task in window.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Closure-LOO on panel A: one value per unit, and their sum, which the closure check holds against the lift."""

    ranking: Ranking
    total: Interval
    tasks: int


def loo_panel(tasks: int, units: int, rollouts: int) -> int:
    """How many of so many tasks leaving out uses, beside a valuation of so many rollouts."""
    return min(tasks, max(FEWEST_TASKS, rollouts // (units + 1)))


async def leave_out(reopened: ReopenedRun, listener: Listener, stop: Stop) -> LeftOut:
    """Closure-LOO on panel A, through the run's ledger."""
    tasks, compiled = loo_tasks(reopened), reopened.run.compiled
    names = tuple(task.id for task in tasks)
    wanted = closure_loo_requests(compiled, names)
    async with spending(reopened, tasks, listener, stop, expected=len(wanted), purpose="baselines") as runner:
        (answers,) = await runner.run_policies([_ask(wanted)])
    level = reopened.settings.level
    return LeftOut(
        ranking=closure_loo(compiled, names, answers, level=level),
        total=closure_loo_total(compiled, names, answers, level=level),
        tasks=len(names),
    )


def _ask(wanted: tuple[Request, ...]) -> Policy[Answers]:
    answers = yield wanted
    return answers


class _ReadsScore:
    """Takes the number out of a judge's answer, so that judgements lie in the ledger like all else that was paid."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        del workspace
        if outcome.ending is Ending.CUT:
            raise VerifierFailure(f"the token limit cut the judge's answer to {task.id}.")
        found = read_score(outcome.answer)
        if found is None:
            raise VerifierFailure(f"the judge's answer to {task.id} holds no number from 0 to 100.")
        return found


async def ask_judge(reopened: ReopenedRun, listener: Listener, stop: Stop) -> Ranking:
    """One judgement per unit by the agent of `--judge`, without running a task."""
    spec = reopened.settings.judge
    if not spec:
        raise SettingsError("the judge's curve needs a judge.", hint="Name an agent with --judge.")
    judge = make_client(make_agent, spec, reopened.settings, reopened.job.folder)
    compiled = reopened.run.compiled
    questions = judge_tasks(compiled)
    requests = {unit: _bare(task.id) for unit, task in questions.items()}
    asked = replace(reopened, agent=judge, verifier=_ReadsScore())
    tasks = questions.values()
    async with spending(asked, tasks, listener, stop, expected=len(tasks), purpose="baselines") as runner:
        (answers,) = await runner.run_policies([_ask(tuple(requests.values()))])
    scores = {unit: answers[request] for unit, request in requests.items()}
    return judge_ranking(compiled, {unit: f"{100 * s:.0f}" for unit, s in scores.items() if s is not None})


def _bare(task: str) -> Request:
    return Request(coalition=frozenset(), operator=Operator.DELETE, task=task, why="baseline:judge")


async def ranked(
    reopened: ReopenedRun, methods: Sequence[str], listener: Listener, stop: Stop
) -> Mapping[str, Sequence[Ranking]]:
    """One ranking per method; of chance several. Leave-one-out and the judge spend, unless the ledger knows."""
    found: dict[str, Sequence[Ranking]] = {}
    for method in methods:
        match method:
            case "skillsv":
                found[method] = [skillsv_ranking(reopened.run)]
            case "loo":
                found[method] = [(await leave_out(reopened, listener, stop)).ranking]
            case "judge":
                found[method] = [await ask_judge(reopened, listener, stop)]
            case _:
                found[method] = random_rankings(reopened.run)
    return found


def paths(run: Run, method: str, rankings: Sequence[Ranking]) -> list[tuple[PruneStep, ...]]:
    """The whole pruning path of each ranking of a method."""
    renderer = make_renderer(run.compiled, run.settings)
    known: dict[Coalition, int] = {}

    def tokens(kept: Coalition) -> int:
        if kept not in known:
            known[kept] = tokens_of_kept(renderer, kept)
        return known[kept]

    values = ({unit: value.value for unit, value in ranking.values.items()} for ranking in rankings)
    partners = partners_of(run.compiled, run.records, run.observations) if method == "skillsv" else None
    additive = method in _ADDITIVE
    return [pruning_path(run.compiled, each, tokens, additive=additive, partners=partners) for each in values]
