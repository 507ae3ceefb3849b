"""The tasks in the order in which they join a run, and on how many of them a noisy agent is asked.

With few rollouts, many tasks are bad for the values of a noisy agent: each has its own difficulty to learn. So it is
asked on some tasks first, and more tasks join as the run grows. The order is stratified, so the first tasks represent
all strata. Neither depends on the budget: a larger budget continues where the smaller one ended, with more tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

FIRST_TASKS = 30
"""Tasks of the first batch, and of a noisy agent up to `FEW_ROLLOUTS`."""

FEW_ROLLOUTS = 400
"""Rollouts up to which a noisy agent is asked on `FIRST_TASKS`."""

FEW_TASKS = 40
"""Tasks on which a noisy agent is asked beyond that: at 800 rollouts as good as twice the rollouts on 120 tasks."""

ROLLOUTS_A_TASK = 30
"""Rollouts per task at which further tasks join: all 80 tasks of a panel are asked at 2,400 rollouts."""

STREAM = 4
"""Random stream of the order of tasks; it is separate, so the order changes no other draw."""


def order_tasks(tasks: Sequence[str], strata: Mapping[str, str], seed: int) -> list[int]:
    """The numbers of all tasks, shuffled, so that every beginning holds each stratum in proportion to its size."""
    rng = np.random.default_rng([seed, STREAM])
    groups: dict[str, list[int]] = {}
    for number in rng.permutation(len(tasks)).tolist():
        groups.setdefault(strata.get(tasks[number], ""), []).append(number)
    placed = []
    for name in sorted(groups):
        shift = rng.random()
        placed += [((place + shift) / len(groups[name]), number) for place, number in enumerate(groups[name])]
    return [number for _, number in sorted(placed)]


def noisy_panel_size(rollouts: int, tasks: int) -> int:
    """The number of tasks on which a noisy agent is asked after so many rollouts per operator."""
    if rollouts < FEW_ROLLOUTS:
        return min(tasks, FIRST_TASKS)
    return min(tasks, max(FEW_TASKS, rollouts // ROLLOUTS_A_TASK))
