"""The score of any coalition, predicted by the model of an adaptive run or by tables of a chain run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, ScoredCoalitions, read_observations
from skillsv.estimate.adaptive.patterns import score_patterns
from skillsv.estimate.adaptive.surrogate import PREDICTION_LIMIT, fit_surrogate
from skillsv.estimate.marginals import prefix_scores
from skillsv.model.coalition import ChainRecord, Coalition, Observation, Operator
from skillsv.model.skill import CompiledSkill

PredictScore = Callable[[Coalition], float]
"""The predicted mean score V(S) (Eq. 3) of a coalition that holds the trigger, under deletion."""


LEAST_CHAINS = 4
"""Chains per task that tables of a chain run need.

A table misses one of two units that replace each other where no chain holds the missing order. Of r chains all have the
same order with the chance 2^(1 - r): one task in eight with four chains.
"""


def make_predictor(
    compiled: CompiledSkill, observations: Sequence[Observation], pairs: Iterable[tuple[str, str]] = ()
) -> PredictScore:
    """Fit the model of the run: the scores of patterns for an agent that repeats itself, else the surrogate.

    The surrogate adds units up on the logit scale. For `pairs` of units it has an effect of both together besides.
    """
    observed = read_observations(compiled, observations, with_padded=False)
    if observed.noisy:
        column = {unit: place for place, unit in enumerate(compiled.execution)}
        together = [(column[one], column[other]) for one, other in pairs]
        return _mean_over_tasks(compiled, _fit_surrogate(observed.net, len(observed.tasks), together))
    return _tabulate_patterns(compiled, observed.net, len(observed.tasks))


def can_tabulate(records: Sequence[ChainRecord]) -> bool:
    """Whether the agent repeats itself and the tasks are in enough chains for tables."""
    tasks = [task for record in records for task in record.plan.window.tasks]
    steady = not any(record.plan.replicate for record in records)
    return steady and len(tasks) >= LEAST_CHAINS * len(set(tasks))


def tabulate_chains(compiled: CompiledSkill, records: Sequence[ChainRecord]) -> PredictScore:
    """Predict by the scores of patterns, from all prefixes of the chains of an agent that repeats itself."""
    tasks = dict.fromkeys(task for record in records for task in record.plan.window.tasks)
    number = {task: place for place, task in enumerate(tasks)}
    parts = [_prefixes_of(compiled, record, number) for record in records]
    scored = ScoredCoalitions(
        present=np.concatenate([part.present for part in parts]),
        task=np.concatenate([part.task for part in parts]),
        score=np.concatenate([part.score for part in parts]),
    )
    return _tabulate_patterns(compiled, scored, len(number))


def _prefixes_of(compiled: CompiledSkill, record: ChainRecord, number: Mapping[str, int]) -> ScoredCoalitions:
    """The prefixes of a chain under deletion, each on every task of the window that it was scored on."""
    scores = prefix_scores(record, Operator.DELETE)
    rank = {unit: place for place, unit in enumerate(record.plan.order)}
    entered = np.array([rank[unit] for unit in compiled.execution], dtype=np.int64)
    prefix, task = np.nonzero(~np.isnan(scores))
    tasks = np.array([number[name] for name in record.plan.window.tasks], dtype=np.int64)
    return ScoredCoalitions(present=entered[None, :] <= prefix[:, None], task=tasks[task], score=scores[prefix, task])


def _mean_over_tasks(compiled: CompiledSkill, predict_tasks: Callable[[Bools], Floats]) -> PredictScore:
    units = compiled.execution

    def predict(coalition: Coalition) -> float:
        present = np.fromiter(map(coalition.__contains__, units), dtype=np.bool_, count=len(units))
        return float(predict_tasks(present).mean())

    return predict


def _tabulate_patterns(compiled: CompiledSkill, scored: ScoredCoalitions, tasks: int) -> PredictScore:
    """The mean over the tasks of the score that each task's table has for the deciding units that are present.

    Coalitions with the same deciding units have the same prediction, which is computed once: most steps of a pruning
    path remove a unit that decides nothing.
    """
    rows = [scored.task == task for task in range(tasks)]
    tables = [score_patterns(scored.present[own], scored.score[own]) for own in rows]
    deciding = [[(compiled.execution[unit], 1 << bit) for bit, unit in enumerate(table.deciding)] for table in tables]
    deciding_units = frozenset(unit for units in deciding for unit, _ in units)

    @cache
    def predict_by_deciding(present: Coalition) -> float:
        patterns = (sum(bit for unit, bit in units if unit in present) for units in deciding)
        return float(np.array([table.scores[pattern] for table, pattern in zip(tables, patterns, strict=True)]).mean())

    return lambda coalition: predict_by_deciding(deciding_units & coalition)


def _fit_surrogate(scored: ScoredCoalitions, tasks: int, pairs: Sequence[tuple[int, int]]) -> Callable[[Bools], Floats]:
    def with_pairs(present: Bools) -> Bools:
        return np.concatenate([present, *(present[:, [one]] & present[:, [other]] for one, other in pairs)], axis=1)

    weights = fit_surrogate(replace(scored, present=with_pairs(scored.present)), tasks).weights

    def predict(present: Bools) -> Floats:
        logits = weights @ np.append(1.0, with_pairs(present[None, :])[0] - 0.5)
        chances: Floats = 1.0 / (1.0 + np.exp(-np.clip(logits, -PREDICTION_LIMIT, PREDICTION_LIMIT)))
        return chances

    return predict
