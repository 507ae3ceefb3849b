"""What a steady agent's values take from earlier agents on the tasks on which it contradicts all of them.

A later agent asks first for what the earlier agents' scores forecast (`rollout/adaptive/earlier_agents.py`). Where the
forecasts hold, its own scores say the same. Where they do not, its task has units of its own, which are searched with
few rollouts, while the earlier agents searched theirs for long. Most units are still worth about the same for both. So
on these tasks together a unit's value is drawn towards the earlier agents' value by as much as the units of this run
show that values agree. The constants were chosen by coverage and error on the planted games of `TUNING_SEEDS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers, ScoredCoalitions
from skillsv.estimate.adaptive.patterns import coalition_masks, pattern_effects
from skillsv.estimate.adaptive.values import SMALLEST_ERROR, ValueDraws
from skillsv.model.forecast_table import ForecastTable
from skillsv.model.task_table import Mask, Score

SPREADS = (0.0125, 0.025, 0.05, 0.1)
"""How far a unit's mean value on these tasks may lie from an earlier agent's: standard deviations that are tried."""

PRIOR_UNITS = 10.0
"""Weight, in units, of the assumption that all earlier agents and all spreads are equally likely."""

ERROR_SHARE = 0.75
"""Share of a value's standard error that its error has on most units: errors are rare and large (`steady_values`)."""

STEPS = 60
"""Steps of the weights' fit: they have settled by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pulled:
    """The values of the units on the contradicted tasks, and their standard errors."""

    values: Floats
    error: Floats


def pull_to_earlier(
    own: ValueDraws, scored: ScoredCoalitions, earlier: Sequence[ScoredCoalitions], place: Numbers
) -> ValueDraws:
    """The values of a steady agent with what `earlier` agents showed on the tasks on which it contradicts them all.

    The sum of all values stays: the anchors give it. Without earlier agents, or where one of them holds on every task,
    nothing changes.
    """
    tasks = len(own.task_values)
    contradicted = find_contradicted(scored, earlier, tasks)
    if not contradicted.any() or own.values.size < 2:
        return own
    share = float(contradicted.mean())
    mine = own.task_values[contradicted].sum(axis=0) / tasks
    theirs = np.array([_values_on(agent, contradicted, place) for agent in earlier]) / tasks
    error = own.standard_error
    pulled = _pull(mine, ERROR_SHARE * np.sqrt(share) * error, theirs, share)
    moved = pulled.values - mine
    errors = np.sqrt((pulled.error / ERROR_SHARE) ** 2 + (1.0 - share) * error**2)
    values = own.values + moved
    changed = own.task_values.any(axis=0)  # a unit that changed no score keeps its zeros: it is idle
    task_values = own.task_values + np.outer(contradicted / share, np.where(changed, moved, 0.0))
    return replace(own, values=values, draws=own.scaled(errors) + moved, task_values=task_values)


def find_contradicted(scored: ScoredCoalitions, earlier: Sequence[ScoredCoalitions], tasks: int) -> Bools:
    """The tasks on which each of the earlier agents forecast a score that this agent did not have; none without any."""
    own = _scores_by_task(scored, tasks)
    contradicted = np.full(tasks, bool(earlier))
    for agent in earlier:
        for task, scores in enumerate(_scores_by_task(agent, tasks)):
            table = ForecastTable({mask: score[0] for mask, score in scores.items()})
            contradicted[task] &= table.contradictions(own[task]) > 0
    return contradicted


def _scores_by_task(scored: ScoredCoalitions, tasks: int) -> list[dict[Mask, Score]]:
    by_task: list[dict[Mask, Score]] = [{} for _ in range(tasks)]
    masks = coalition_masks(scored.present)
    for task, mask, score in zip(scored.task.tolist(), masks, scored.score.tolist(), strict=True):
        by_task[task].setdefault(mask, (score,))
    return by_task


def _values_on(agent: ScoredCoalitions, chosen: Bools, place: Numbers) -> Floats:
    """The sum of an earlier agent's values over the chosen tasks, by its scores alone."""
    total: Floats = pattern_effects(agent.on_tasks(chosen), int(chosen.sum()), place).values.sum(axis=0)
    return total


def _pull(own: Floats, error: Floats, theirs: Floats, share: float) -> _Pulled:
    """Combine the own values with those of the earlier agents [agents, units], by a mixture that all units share.

    Each unit's true value lies around one of the earlier agents' values, with one of `SPREADS`; which of them is
    likely is fitted to all units (expectation and maximization).
    """
    spread = share * np.tile(SPREADS, len(theirs))[:, None]
    centre = np.repeat(theirs, len(SPREADS), axis=0)
    noise = np.maximum(error, SMALLEST_ERROR) ** 2
    variance = spread**2 + noise
    likelihood = -0.5 * ((own - centre) ** 2 / variance + np.log(variance))
    weights = np.full(len(spread), 1.0 / len(spread))
    for _ in range(STEPS):
        chance = _normalized(likelihood, weights)
        weights = (chance.sum(axis=1) + PRIOR_UNITS / len(spread)) / (len(own) + PRIOR_UNITS)
    chance = _normalized(likelihood, weights)
    gain = spread**2 / variance
    means = centre + gain * (own - centre)
    values = (chance * means).sum(axis=0)
    squares = (chance * (gain * noise + (means - values) ** 2)).sum(axis=0)
    values += (own.sum() - values.sum()) * squares / squares.sum()
    return _Pulled(values=values, error=np.sqrt(squares))


def _normalized(likelihood: Floats, weights: Floats) -> Floats:
    """For each unit the chances of all components; `likelihood` is a logarithm [components, units]."""
    joint = likelihood + np.log(weights)[:, None]
    chance: Floats = np.exp(joint - joint.max(axis=0))
    chance /= chance.sum(axis=0)
    return chance
