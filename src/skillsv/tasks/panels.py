"""Splits tasks into the panels A and B, and draws the task windows of chains: T_A, T_B and W_k in the paper."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillsv.errors import TaskError
from skillsv.model.fingerprint import first_part
from skillsv.model.task import PanelA, PanelB, Task, TaskWindow

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPanels:
    """Digests of tasks that earlier runs of a folder used: `a` for values, `b` held out for proofs.

    A task in `a` is never held out again, and a task in `b` that no value has seen stays held out.
    """

    a: frozenset[str] = frozenset()
    b: frozenset[str] = frozenset()

    def seen(self, task: Task) -> bool:
        """Whether a value has seen the task."""
        return first_part(task.digest) in self.a

    def reserved(self, task: Task) -> bool:
        """Whether the task is held out since an earlier run."""
        return first_part(task.digest) in self.b and not self.seen(task)


NO_PANELS = KnownPanels()
"""A folder without earlier runs."""


def split_panels(
    tasks: Sequence[Task], *, a: float | None, b: float | None, seed: int, known: KnownPanels = NO_PANELS
) -> tuple[PanelA, PanelB]:
    """Split the tasks into panels A and B by one seeded shuffle, stratum by stratum. No task is in both.

    An int is a number of tasks, a float (0.5) a share of all tasks, rounded down. `b` None is half of the tasks, or the
    rest after A if that is less; 0 means no panel B. `a` None is all tasks that are not in B. The tasks are sorted by
    id before the shuffle, so the order of lines in the file does not matter. Tasks that `known` has in a panel stay
    there: panels only grow when tasks are added.
    """
    count = len(tasks)
    if not count:
        raise TaskError("There are no tasks to make a panel of.")
    size_a = None if a is None else _size(a, count, "A")
    size_b = max(0, min(count // 2, count - (size_a or 0))) if b is None else _size(b, count, "B")
    shuffled = _shuffled(tasks, seed)
    order = _stratified(shuffled, seed)
    unseen = [task for task in order if not known.seen(task)]
    if b is None:
        size_b = min(size_b, len(unseen))
    size_a = count - size_b if size_a is None else size_a
    _require_room(count, size_a, size_b, len(unseen))
    reserved = [task for task in order if known.reserved(task)][:size_b]
    in_b = {task.id for task in _take_after(order, size_a, size_b, reserved, known)}
    others = sorted((task for task in order if task.id not in in_b), key=known.reserved)
    in_a = {task.id for task in others[:size_a]}
    # The order within a panel is that of the plain shuffle: a run of an earlier version finds its windows again.
    return (
        PanelA(tasks=tuple(task for task in shuffled if task.id in in_a)),
        PanelB(tasks=tuple(task for task in shuffled if task.id in in_b)),
    )


def _take_after(
    order: Sequence[Task], size_a: int, size_b: int, reserved: Sequence[Task], known: KnownPanels
) -> list[Task]:
    """Panel B: what is reserved, then unseen tasks, first those after the beginning that panel A takes."""
    taken = {task.id for task in reserved}
    places = [*range(size_a, len(order)), *reversed(range(min(size_a, len(order))))]
    free = [order[place] for place in places if order[place].id not in taken and not known.seen(order[place])]
    return [*reserved, *free[: size_b - len(reserved)]]


def _require_room(count: int, size_a: int, size_b: int, unseen: int) -> None:
    """Raise TaskError where the panels do not fit."""
    if size_a + size_b > count:
        raise TaskError(
            f"Panels of {size_a} and {size_b} tasks do not fit: there are {count}, and no task may be in both.",
            hint="Make --panel-a or --panel-b smaller.",
        )
    if size_a < 1:
        raise TaskError(f"Panel A is empty: panel B takes all {count} tasks.", hint="Make --panel-b smaller.")
    if size_b > unseen:
        raise TaskError(
            f"Panel B cannot have {size_b} tasks: a value of this folder has seen {count - unseen} of {count}, and "
            "these prove nothing any more.",
            hint="Add tasks, make --panel-b smaller, or use another --run-dir.",
        )


def _shuffled(tasks: Sequence[Task], seed: int) -> list[Task]:
    shuffled = sorted(tasks, key=lambda task: task.id)
    random.Random(seed).shuffle(shuffled)
    return shuffled


def _stratified(shuffled: Sequence[Task], seed: int) -> list[Task]:
    """The tasks so that every beginning and every end holds each stratum in proportion to its size."""
    strata: dict[str, list[Task]] = {}
    for task in shuffled:
        strata.setdefault(task.stratum, []).append(task)
    if len(strata) < 2:
        return list(shuffled)
    rng = random.Random(f"strata {seed}")
    placed: list[tuple[float, str, Task]] = []
    for name in sorted(strata):
        shift, members = rng.random(), strata[name]
        placed += [((place + shift) / len(members), task.id, task) for place, task in enumerate(members)]
    return [task for _, _, task in sorted(placed, key=lambda item: item[:2])]


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
