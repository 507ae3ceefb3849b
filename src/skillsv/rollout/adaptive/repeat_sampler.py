"""Draws rollouts to repeat in an adaptive run, over tasks and sizes of coalitions, to find out about noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from skillsv.model.task_table import Mask, TaskTable

REPEATED_SHARE = 0.04
"""Share of the rollouts that are repeats drawn at random, from the first round to the last."""

EXTRA_REPEATS = 20
"""Repeats drawn at once after a repeat differed: a second one shows that the first was no accident."""

SIZE_CLASSES = 3
"""Sizes between the anchors {m} and N are divided into so many classes, which get the same number of repeats."""

STREAM = 3
"""Random stream of the draws. It is separate: repeats do not change which coalitions a steady agent is asked."""

Place = tuple[int, Mask]
"""The number of a task and a coalition that was scored on it."""


class RepeatSampler:
    """Draws scored coalitions for a second rollout, each at most once.

    Every other repeat goes to a score that no other score confirms: a score changed by noise looks as if one more unit
    decided the task, and is then the only one of its pattern. The others go to all sizes of coalitions and all tasks
    in turn.
    """

    def __init__(self, units: int, seed: int) -> None:
        self._units = units
        self._rng = np.random.default_rng([seed, STREAM])
        self._repeated: set[Place] = set()
        self._of_size: Counter[int] = Counter()
        self._of_task: Counter[int] = Counter()

    def draw(self, tables: Sequence[TaskTable], rollouts: int, differing: int, extra: int = 0) -> list[Place]:
        """The tasks and coalitions to repeat now, after so many rollouts, `differing` of their repeats not equal.

        `extra` repeats are due besides.
        """
        due = int(REPEATED_SHARE * rollouts) + EXTRA_REPEATS * differing + extra - len(self._repeated)
        if due <= 0:
            return []
        places = self._group((task, mask) for task, table in enumerate(tables) for mask in table.scores)
        unconfirmed = self._group((task, mask) for task, table in enumerate(tables) for mask in table.unconfirmed())
        drawn = []
        for _ in range(due):
            choices = unconfirmed if len(self._repeated) % 2 and any(unconfirmed.values()) else places
            if not any(choices.values()):
                break
            drawn.append(self._draw_one(choices))
            for grouped in (places, unconfirmed):
                _discard(grouped, self._size_class(drawn[-1][1]), drawn[-1])
        return drawn

    def _group(self, places: Iterable[Place]) -> dict[int, dict[int, list[Mask]]]:
        """The places that were not repeated yet, by class of size and by task."""
        grouped: dict[int, dict[int, list[Mask]]] = {}
        for task, mask in places:
            if (task, mask) not in self._repeated:
                grouped.setdefault(self._size_class(mask), {}).setdefault(task, []).append(mask)
        return grouped

    def _draw_one(self, grouped: Mapping[int, Mapping[int, Sequence[Mask]]]) -> Place:
        size = self._rarest(grouped, self._of_size)
        task = self._rarest(grouped[size], self._of_task)
        masks = grouped[size][task]
        place = task, masks[int(self._rng.integers(len(masks)))]
        self._of_size[size] += 1
        self._of_task[task] += 1
        self._repeated.add(place)
        return place

    def _size_class(self, mask: Mask) -> int:
        """0 for {m}, `SIZE_CLASSES` + 1 for the full skill, and the classes between them by the number of units."""
        size = mask.bit_count()
        return 0 if not size else 1 + SIZE_CLASSES * size // self._units if size < self._units else SIZE_CLASSES + 1

    def _rarest(self, choices: Iterable[int], counts: Counter[int]) -> int:
        """One of the choices that were drawn least often, at random."""
        ordered = sorted(choices)
        least = min(counts[choice] for choice in ordered)
        rarest = [choice for choice in ordered if counts[choice] == least]
        return rarest[int(self._rng.integers(len(rarest)))]


def _discard(grouped: dict[int, dict[int, list[Mask]]], size: int, place: Place) -> None:
    """Remove a place, and the groups that become empty."""
    task, mask = place
    masks = grouped.get(size, {}).get(task, [])
    if mask in masks:
        masks.remove(mask)
        if not masks:
            del grouped[size][task]
        if not grouped[size]:
            del grouped[size]
