"""Splits tasks into the panels A and B, and draws the task windows of chains: T_A, T_B and W_k in the paper."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillsv.errors import TaskError
from skillsv.model.task import PanelA, PanelB, Task, TaskWindow

if TYPE_CHECKING:
    import numpy as np


def split_panels(tasks: Sequence[Task], *, a: float | None, b: float | None, seed: int) -> tuple[PanelA, PanelB]:
    """Split the tasks into panels A and B by one seeded shuffle. No task is in both.

    An int is a number of tasks, a float (0.5) a share of all tasks, rounded down. `b` None is half of the tasks, or the
    rest after A if that is less; 0 means no panel B. `a` None is all tasks that are not in B. The tasks are sorted by
    id before the shuffle, so the order of lines in the file does not matter.
    """
    count = len(tasks)
    if not count:
        raise TaskError("There are no tasks to make a panel of.")
    size_a = None if a is None else _size(a, count, "A")
    size_b = max(0, min(count // 2, count - (size_a or 0))) if b is None else _size(b, count, "B")
    size_a = count - size_b if size_a is None else size_a
    if size_a + size_b > count:
        raise TaskError(
            f"Panels of {size_a} and {size_b} tasks do not fit: there are {count}, and no task may be in both.",
            hint="Make --panel-a or --panel-b smaller.",
        )
    if size_a < 1:
        raise TaskError(f"Panel A is empty: panel B takes all {count} tasks.", hint="Make --panel-b smaller.")
    shuffled = sorted(tasks, key=lambda task: task.id)
    random.Random(seed).shuffle(shuffled)
    return PanelA(tasks=tuple(shuffled[:size_a])), PanelB(tasks=tuple(shuffled[size_a : size_a + size_b]))


def _size(amount: float, count: int, panel: str) -> int:
    """The number of tasks of a panel, from a number (int) or a share (float) of all `count` tasks."""
    is_share = isinstance(amount, float)
    if not math.isfinite(amount) or amount < 0 or (is_share and amount > 1):
        raise TaskError(
            f"Panel {panel} cannot have {amount} tasks.", hint="Give a number of tasks, or a fraction from 0.0 to 1.0."
        )
    return math.floor(amount * count + 1e-9) if is_share else int(amount)


def draw_window(panel: PanelA, size: int, rng: np.random.Generator) -> TaskWindow:
    """W_k in the paper: `size` different tasks, spread over the strata. Each of the M tasks has the probability size/M.

    Systematic sampling: the tasks stand in a line, stratum after stratum (in random order, and shuffled within a
    stratum), and every (M/size)-th task is taken from a random start. So a stratum of s tasks gets size*s/M tasks of
    the window, rounded down or up at random. In whole numbers: each task occupies `size` of the size*M points of the
    line, and the points r + i*M (i < size) are taken. For r uniform below M, a task is hit with probability exactly
    size/M, whatever the sizes of the strata.
    """
    count = len(panel.tasks)
    if size < 1:
        raise TaskError(f"A window of {size} tasks scores nothing.", hint="Give --window at least 1.")
    if size > count:
        raise TaskError(
            f"A window of {size} tasks does not fit into panel A, which has {count}.",
            hint="Make --window smaller or panel A larger.",
        )
    strata = {name: number for number, name in enumerate(sorted({task.stratum for task in panel.tasks}))}
    rank = rng.permutation(len(strata)).tolist()
    shuffled = [panel.tasks[index] for index in rng.permutation(count).tolist()]
    line = sorted(shuffled, key=lambda task: rank[strata[task.stratum]])
    start = int(rng.integers(count))
    return TaskWindow(tasks=tuple(line[(start + step * count) // size].id for step in range(size)))
