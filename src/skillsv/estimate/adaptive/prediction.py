"""The score of any coalition, predicted by the model that the values of an adaptive run come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, ScoredCoalitions, read_observations
from skillsv.estimate.adaptive.patterns import score_patterns
from skillsv.estimate.adaptive.surrogate import PREDICTION_LIMIT, fit_surrogate
from skillsv.model.coalition import Coalition, Observation
from skillsv.model.skill import CompiledSkill

PredictScore = Callable[[Coalition], float]
"""The predicted mean score V(S) (Eq. 3) of a coalition that holds the trigger, under deletion."""


def make_predictor(
    compiled: CompiledSkill, observations: Sequence[Observation], pairs: Iterable[tuple[str, str]] = ()
) -> PredictScore:
    """Fit the model of the run: the scores of patterns for an agent that repeats itself, else the surrogate.

    The surrogate adds units up on the logit scale. For `pairs` of units it has an effect of both together besides.
    """
    observed = read_observations(compiled, observations)
    column = {unit: place for place, unit in enumerate(compiled.execution)}
    if observed.noisy:
        together = [(column[one], column[other]) for one, other in pairs]
        predict_tasks = _fit_surrogate(observed.net, len(observed.tasks), together)
    else:
        predict_tasks = _tabulate_patterns(observed.net, len(observed.tasks))

    def predict(coalition: Coalition) -> float:
        present = np.array([unit in coalition for unit in column], dtype=np.bool_)
        return float(predict_tasks(present).mean())

    return predict


def _tabulate_patterns(scored: ScoredCoalitions, tasks: int) -> Callable[[Bools], Floats]:
    rows = [scored.task == task for task in range(tasks)]
    tables = [score_patterns(scored.present[own], scored.score[own]) for own in rows]

    def predict(present: Bools) -> Floats:
        patterns = (sum(1 << bit for bit, unit in enumerate(table.deciding) if present[unit]) for table in tables)
        return np.array([table.scores[pattern] for table, pattern in zip(tables, patterns, strict=True)])

    return predict


def _fit_surrogate(scored: ScoredCoalitions, tasks: int, pairs: Sequence[tuple[int, int]]) -> Callable[[Bools], Floats]:
    def with_pairs(present: Bools) -> Bools:
        return np.concatenate([present, *(present[:, [one]] & present[:, [other]] for one, other in pairs)], axis=1)

    weights = fit_surrogate(replace(scored, present=with_pairs(scored.present)), tasks).weights

    def predict(present: Bools) -> Floats:
        logits = weights @ np.append(1.0, with_pairs(present[None, :])[0] - 0.5)
        chances: Floats = 1.0 / (1.0 + np.exp(-np.clip(logits, -PREDICTION_LIMIT, PREDICTION_LIMIT)))
        return chances

    return predict
