"""The rankings that pruning curves compare: SkillSV's own, and the baselines, run on panel A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.agents import make_agent
from skillsv.confirmation.baselines import (
    closure_loo,
    closure_loo_requests,
    closure_loo_total,
    judge_ranking,
    judge_tasks,
    random_ranking,
)
from skillsv.decide import pruning_path
from skillsv.decide.interactions import find_partners
from skillsv.model.edit import PruneStep
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.task import Task
from skillsv.model.value import Interval, Ranking
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.judge_opinions import ScoreReader, request_judgement
from skillsv.pipeline.run import ReopenedRun, Run, panel_a
from skillsv.pipeline.session import open_recorded_run
from skillsv.rollout import Policy, Stop
from skillsv.tasks import draw_window

PAIR_AWARE = "skillsv-pairs"
"""The method that prunes as `skillsv prune` does: by values, with suspected pairs of units taken into account."""

METHODS = ("skillsv", "loo", "judge", "random", PAIR_AWARE)
"""The methods that prune: values as in the paper, leave-one-out, a judge model, chance; values and suspected pairs."""

RANDOM_ORDERS = 3
"""Random rankings whose curves are averaged."""

LOO_STREAM = 11
"""Random stream of the tasks of leave-one-out."""

RANDOM_STREAM = 12
"""Random stream of the random rankings."""

FEWEST_TASKS = 8
"""Tasks that leave-one-out uses at least, however few rollouts the valuation took."""

_ADDITIVE = frozenset({"skillsv", "judge", PAIR_AWARE})
"""Methods whose values add up over units that are removed together. A value of leave-one-out includes the dependants
already, and a random number measures nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOneOutResult:
    """Closure-LOO on panel A: a value per unit, and their sum, which is compared with the lift."""

    ranking: Ranking
    total: Interval
    tasks: int


async def make_rankings(
    reopened: ReopenedRun, methods: Sequence[str], listener: Listener, stop: Stop | None
) -> Mapping[str, Sequence[Ranking]]:
    """One ranking per method, several for chance. Leave-one-out and the judge run rollouts that the ledger lacks."""
    rankings: dict[str, Sequence[Ranking]] = {}
    for method in methods:
        match method:
            case "skillsv" | "skillsv-pairs":
                rankings[method] = [_skillsv_ranking(reopened.run, method)]
            case "loo":
                rankings[method] = [(await leave_out(reopened, listener, stop)).ranking]
            case "judge":
                rankings[method] = [await _ask_judge(reopened, listener, stop)]
            case _:
                rankings[method] = _random_rankings(reopened.run)
    return rankings


def _skillsv_ranking(run: Run, method: str) -> Ranking:
    """The net effects of the run's valuation."""
    return Ranking(method=method, values={unit.id: unit.value.net_or_zero for unit in run.valuation.units})


def _random_rankings(run: Run) -> list[Ranking]:
    """A few random rankings, the same for the same seed."""
    seeds = ([run.settings.seed, number, RANDOM_STREAM] for number in range(RANDOM_ORDERS))
    return [random_ranking(run.compiled, np.random.default_rng(seed)) for seed in seeds]


async def leave_out(reopened: ReopenedRun, listener: Listener, stop: Stop | None) -> LeaveOneOutResult:
    """Closure-LOO on panel A, through the run's ledger."""
    tasks, compiled = loo_tasks(reopened), reopened.run.compiled
    names = tuple(task.id for task in tasks)
    requests = closure_loo_requests(compiled, names)
    async with open_recorded_run(
        reopened, tasks, listener, stop, expected=len(requests), purpose="baselines"
    ) as runner:
        (answers,) = await runner.run_policies([_request_all(requests)])
    level = reopened.settings.level
    return LeaveOneOutResult(
        ranking=closure_loo(compiled, names, answers, level=level),
        total=closure_loo_total(compiled, names, answers, level=level),
        tasks=len(names),
    )


def loo_tasks(reopened: ReopenedRun) -> tuple[Task, ...]:
    """As many tasks of panel A as make leave-one-out cost what the valuation cost, but at least a few."""
    panel, run = panel_a(reopened), reopened.run
    size = count_loo_tasks(len(panel.tasks), len(run.compiled.execution), run.valuation.rollouts.spent)
    window = draw_window(panel, size, np.random.default_rng([run.settings.seed, LOO_STREAM]))
    return tuple(reopened.tasks[task] for task in window.tasks)


def count_loo_tasks(tasks: int, units: int, rollouts: int) -> int:
    """How many of so many tasks leave-one-out uses, beside a valuation of so many rollouts."""
    return min(tasks, max(FEWEST_TASKS, rollouts // (units + 1)))


def _request_all(requests: tuple[Request, ...]) -> Policy[RequestScores]:
    """A policy that makes all requests at once."""
    answers = yield requests
    return answers


async def _ask_judge(reopened: ReopenedRun, listener: Listener, stop: Stop | None) -> Ranking:
    """The ranking by one score per unit from the agent of `--judge`. The ledger keeps the scores."""
    spec = reopened.settings.judge
    assert spec is not None, "`prepare_confirmation` refuses a judge's curve without a judge"
    judge = make_client(make_agent, spec, reopened.settings, reopened.job.folder)
    compiled = reopened.run.compiled
    tasks = judge_tasks(compiled)
    requests = {unit: request_judgement(task) for unit, task in tasks.items()}
    judged = replace(reopened, agent=judge, verifier=ScoreReader())
    async with open_recorded_run(
        judged, tasks.values(), listener, stop, expected=len(tasks), purpose="baselines"
    ) as runner:
        (answers,) = await runner.run_policies([_request_all(tuple(requests.values()))])
    return judge_ranking(compiled, {unit: answers[request] for unit, request in requests.items()})


def pruning_paths(run: Run, method: str, rankings: Sequence[Ranking]) -> list[tuple[PruneStep, ...]]:
    """The whole pruning path of each ranking of a method."""
    tables = [{unit: interval.value for unit, interval in ranking.values.items()} for ranking in rankings]
    partners = find_partners(run.compiled, run.records, run.observations) if method == PAIR_AWARE else None
    additive = method in _ADDITIVE
    return [
        pruning_path(run.compiled, values, run.renderer.tokens_left, additive=additive, partners=partners)
        for values in tables
    ]
