"""Where a steady agent's scores differ from what earlier agents' scores forecast, and where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Numbers, ScoredCoalitions
from skillsv.estimate.adaptive.patterns import coalition_masks
from skillsv.model.forecast_table import ForecastTable, merge_agents
from skillsv.model.task_table import Mask, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierComparison:
    """What earlier agents' scores say about each task, next to this agent's own.

    `contradicted`: every earlier agent that searched the task forecast a score that this agent did not have. `agreeing`
    is the number of scores that an earlier agent, whose forecasts hold, had after it found its last deciding unit.
    `shared` are the units that decide the task for an earlier agent [tasks, units].
    """

    contradicted: Bools
    agreeing: Numbers
    shared: Bools

    def on_tasks(self, chosen: Bools) -> EarlierComparison:
        """The same for some of the tasks."""
        return EarlierComparison(
            contradicted=self.contradicted[chosen], agreeing=self.agreeing[chosen], shared=self.shared[chosen]
        )


def compare_with_earlier(
    scored: ScoredCoalitions, earlier: Sequence[ScoredCoalitions], tasks: int
) -> EarlierComparison | None:
    """Compare the scores of this agent with those of earlier ones; None without any."""
    if not earlier:
        return None
    own, theirs = _scores_by_task(scored, tasks), [_scores_by_task(agent, tasks) for agent in earlier]
    contradicted, agreeing = np.zeros(tasks, dtype=np.bool_), np.zeros(tasks, dtype=np.int64)
    shared = np.zeros((tasks, scored.present.shape[1]), dtype=np.bool_)
    for task in range(tasks):
        tables = [table for table in merge_agents(_first(agent[task]) for agent in theirs) if table.searched]
        holding = [table for table in tables if own[task] and not table.contradictions(own[task])]
        contradicted[task] = bool(tables and own[task]) and not holding
        agreeing[task] = max((table.agreeing for table in holding), default=0)
        shared[task, [unit for table in tables for unit in table.find_deciding()]] = True
    return EarlierComparison(contradicted=contradicted, agreeing=agreeing, shared=shared)


def find_open(scored: ScoredCoalitions, tasks: int) -> Bools:
    """The tasks on which this agent's scores differ in a way that the known deciding units do not explain."""
    tables = [ForecastTable(_first(own)) for own in _scores_by_task(scored, tasks)]
    return np.array([table.unexplained for table in tables], dtype=np.bool_)


def _scores_by_task(scored: ScoredCoalitions, tasks: int) -> list[dict[Mask, Score]]:
    by_task: list[dict[Mask, Score]] = [{} for _ in range(tasks)]
    masks = coalition_masks(scored.present)
    for task, mask, score in zip(scored.task.tolist(), masks, scored.score.tolist(), strict=True):
        by_task[task].setdefault(mask, (score,))
    return by_task


def _first(scores: dict[Mask, Score]) -> dict[Mask, float]:
    return {mask: score[0] for mask, score in scores.items()}
