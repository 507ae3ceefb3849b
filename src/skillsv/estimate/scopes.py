"""The two scopes of a net effect: on the tasks of the panel, and on tasks like these.

The panel's tasks are a sample of the tasks that the skill will meet. A value on tasks like these is uncertain by which
tasks were drawn, too. With strata only the differences between tasks of the same stratum count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skillsv.estimate.marginals import Floats

UNSEEN_TASKS = 2.0
"""Tasks that are added with the mean square of all units: a unit that changed no score here may change some elsewhere.
"""


def sampling_variance(task_values: Floats, strata: Sequence[str] = ()) -> Floats:
    """The variance of the mean over tasks of each unit's value, if the tasks were drawn at random within their strata.

    `task_values` are [tasks, units]. A stratum with a single task joins the others of this
    kind; a panel of one task says nothing about other tasks, so the variance is then the mean square of the values.
    """
    tasks = len(task_values)
    squares, freedom = np.zeros(task_values.shape[1]), 0
    for rows in _groups(tasks, strata):
        own = task_values[rows]
        squares += ((own - own.mean(axis=0)) ** 2).sum(axis=0)
        freedom += len(rows) - 1
    usual = float((task_values**2).mean())
    spread = (squares + UNSEEN_TASKS * usual) / (freedom + UNSEEN_TASKS)
    variance: Floats = spread / tasks
    return variance


def _groups(tasks: int, strata: Sequence[str]) -> list[list[int]]:
    """The tasks of each stratum; those of strata with one task together."""
    if not strata:
        return [list(range(tasks))]
    groups: dict[str, list[int]] = {}
    for task, stratum in enumerate(strata):
        groups.setdefault(stratum, []).append(task)
    single = [task for rows in groups.values() if len(rows) == 1 for task in rows]
    return [rows for rows in groups.values() if len(rows) > 1] + ([single] if single else [])
