"""How long rollouts of each task take, so that the long ones of a round start first and do not end it alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from skillsv.model.rollout import Request, Rollout, RolloutKey

SHORTEST = 1.0
"""Seconds up to which all tasks count as equally long: their order saves nothing."""


class TaskDurations:
    """Mean seconds of the rollouts of each task, by its digest: `known` from the ledger, and those of this session."""

    def __init__(self, known: Mapping[str, tuple[int, float]] | None = None) -> None:
        self._sums = dict(known or {})  # number of rollouts, sum of their seconds

    def add(self, rollout: Rollout) -> None:
        """Count a rollout that has a score; others may have ended early."""
        if rollout.score is not None:
            number, seconds = self._sums.get(rollout.key.task, (0, 0.0))
            self._sums[rollout.key.task] = number + 1, seconds + rollout.duration

    def longest_first(
        self, requests: Iterable[tuple[Request, RolloutKey]], later: int
    ) -> list[tuple[Request, RolloutKey]]:
        """The requests of a round, long ones first. Those from place `later` on are asked for ahead and come last.

        A task that never ran counts as an average one, and equally long ones keep their order.
        """
        placed = list(requests)
        if not self._sums:
            return placed
        numbers, seconds = zip(*self._sums.values(), strict=True)
        average = sum(seconds) / sum(numbers)

        def order(place: int) -> tuple[bool, float]:
            number, total = self._sums.get(placed[place][1].task, (1, average))
            return place >= later, -max(SHORTEST, total / number)

        return [placed[place] for place in sorted(range(len(placed)), key=order)]
