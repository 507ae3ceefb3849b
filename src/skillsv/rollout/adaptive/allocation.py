"""Chooses the tasks that get the next rollouts: those with open questions, and every task from time to time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skillsv.model.task_table import TaskTable

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FLOOR = 0.15
"""Share of rollouts that goes to all tasks alike, even to tasks that seem to be settled."""

ROTATIONS = 2
"""Rounds that every task gets before any task is preferred."""

SETTLED_SHARE = 1 / 3
"""Share of the first rounds for tasks without a conflict: gains and harms that cancel there must show early, too."""

NO_DECIDING_UNIT = 0.3
"""Added to the number of a task's deciding units, so that a task without any is still searched."""

ROTATED_SHARE = 0.4
"""Noisy agent: share of a round that goes to the tasks in rotation; the rest goes where scores vary most."""

LEAST_VARIANCE = 0.01
"""Noisy agent: added to the variance of a task's scores, so that a task that always passes is still asked."""

STATUS_SHARE = 0.5
"""Share of the free rollouts that follows the weights of the estimate, where there are any."""


def choose_search_tasks(
    tables: Sequence[TaskTable],
    rounds: Integers,
    weights: Floats | None,
    count: int,
    rng: np.random.Generator,
    *,
    settled_first: int | None = None,
) -> list[int]:
    """Choose different tasks for one round of task searches (deterministic agent).

    The first rounds go through all tasks, mostly those with a conflict first. Later rounds prefer tasks with many
    deciding units and few scores in agreement since the last deciding unit. `settled_first` is how many tasks of the
    first rounds have no conflict, if there are any; a share of the count unless given.
    """
    if rounds.min() < ROTATIONS:
        settled = np.array([table.conflict is None for table in tables])
        order = np.lexsort((rng.random(len(tables)), rounds))
        among = int(SETTLED_SHARE * count) if settled_first is None else settled_first
        first = order[settled[order] & (rounds[order] < ROTATIONS)][:among].tolist()
        rest = order[np.argsort(rounds[order] * 2 + settled[order], kind="stable")].tolist()
        return list(dict.fromkeys([*first, *rest]))[:count]
    openness = np.array([(len(table.deciding) + NO_DECIDING_UNIT) / (1.0 + table.agreeing) for table in tables])
    chance = _probabilities(openness, weights)
    return [int(task) for task in rng.choice(len(tables), size=count, replace=False, p=chance)]


def choose_noisy_tasks(
    sums: Floats, rounds: Integers, weights: Floats | None, count: int, rng: np.random.Generator
) -> Integers:
    """Choose tasks for one round of random closed coalitions (noisy agent): some in rotation, the rest by variance.

    `sums` holds the number of scores and their sum, per task.
    """
    rotation = round(ROTATED_SHARE * count)
    first = np.lexsort((rng.random(len(rounds)), rounds))
    rotated = np.resize(first, rotation)
    rate = (sums[:, 1] + 1.0) / (sums[:, 0] + 2.0)
    chance = _probabilities(np.sqrt(rate * (1.0 - rate) + LEAST_VARIANCE), weights)
    return np.concatenate([rotated, rng.choice(len(rounds), size=count - rotation, p=chance)]).astype(np.int64)


def _probabilities(openness: Floats, weights: Floats | None) -> Floats:
    """The probability of each task: a floor for all, the rest by openness and by the weights of the estimate."""
    share = openness / openness.sum()
    if weights is not None and weights.sum() > 0:
        share = (1.0 - STATUS_SHARE) * share + STATUS_SHARE * weights / weights.sum()
    chance: Floats = FLOOR / len(share) + (1.0 - FLOOR) * share
    chance /= chance.sum()
    return chance
