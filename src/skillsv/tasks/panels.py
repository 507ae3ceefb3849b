"""Panels A and B, and the task windows of chains: T_A, T_B and W_k of the paper."""

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
    """Deal the tasks to panels A and B by one seeded shuffle without replacement; no task is in both.

    A whole number is a size, a fraction (0.5) a share of all tasks, rounded down. `b` None is half of the tasks, or
    what A leaves if that is less; 0 leaves panel B out. `a` None is everything that is not in B. The shuffle starts
    from the tasks sorted by id, so the order of lines in the file does not matter.
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


def _size(wanted: float, count: int, panel: str) -> int:
    """A panel's size from a size (int) or a share (float)."""
    share = isinstance(wanted, float)
    if not math.isfinite(wanted) or wanted < 0 or (share and wanted > 1):
        raise TaskError(
            f"Panel {panel} cannot have {wanted} tasks.", hint="Give a number of tasks, or a fraction from 0.0 to 1.0."
        )
    return math.floor(wanted * count + 1e-9) if share else int(wanted)


def draw_window(panel: PanelA, size: int, rng: np.random.Generator) -> TaskWindow:
    """W_k: `size` different tasks, spread over the strata, each task of the panel with the same probability size/M.

    The strata are laid end to end in random order, shuffled inside, and every (M/size)-th task is taken from a random
    start. So a stratum of s tasks gets size*s/M of the window, rounded down or up at random. In whole numbers: of the
    points r + i*M (i < size), one falls into each stretch of M, and for r uniform below M each task's stretch of `size`
    points is hit with probability exactly size/M, whatever the sizes of the strata.
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
    shuffled = [panel.tasks[place] for place in rng.permutation(count).tolist()]
    line = sorted(shuffled, key=lambda task: rank[strata[task.stratum]])
    start = int(rng.integers(count))
    return TaskWindow(tasks=tuple(line[(start + step * count) // size].id for step in range(size)))
