"""The scores of one agent on one task as forecasts of another agent's scores.

The policy of a later agent asks for what they forecast (`rollout`); the estimate sees by them where two agents differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from skillsv.model.task_table import Mask, Score, TaskTable

ANCHORS = 2
"""Scores that every run has of each task: without the content of the skill, and with all of it."""


class ForecastTable:
    """The scores that one or several agents gave on one task, and what they forecast."""

    def __init__(self, scores: Mapping[Mask, float]) -> None:
        self.scores = dict(scores)
        self._deciding: list[int] | None = None
        self._last_found = 0
        self._deciding_mask: Mask = 0
        self._by_pattern: dict[Mask, set[float]] = {}

    def merge(self, scores: Mapping[Mask, float]) -> bool:
        """Add another agent's scores, unless one differs."""
        if any(self.scores.get(mask, score) != score for mask, score in scores.items()):
            return False
        self.scores.update(scores)
        self._deciding = None
        return True

    def forecast(self, mask: Mask) -> float | None:
        """The score of the coalition, or the one that all coalitions of its pattern have; None if there is none."""
        known = self.scores.get(mask)
        if known is None:
            self.find_deciding()
            alike = self._by_pattern.get(mask & self._deciding_mask, set[float]())
            known = next(iter(alike)) if len(alike) == 1 else None
        return known

    def contradictions(self, own: Mapping[Mask, Score]) -> int:
        """How many of these scores differ from their forecasts."""
        return sum(self.forecast(mask) not in (None, score[0]) for mask, score in own.items())

    @property
    def searched(self) -> bool:
        """Whether there are scores besides those of the two anchors."""
        return len(self.scores) > ANCHORS

    @property
    def agreeing(self) -> int:
        """The number of scores after the one that showed the last deciding unit."""
        self.find_deciding()
        return max(len(self.scores) - 1 - self._last_found, 0)

    @property
    def unexplained(self) -> bool:
        """Whether coalitions with the same deciding units have different scores."""
        self.find_deciding()
        return any(len(scores) > 1 for scores in self._by_pattern.values())

    def find_deciding(self) -> Sequence[int]:
        """The units that alone change the score, in the order in which the scores showed them."""
        if self._deciding is None:
            table = TaskTable()
            for mask, score in self.scores.items():
                table.add(mask, (score,))
            units = max((mask.bit_length() for mask in self.scores), default=0)
            found = table.find_deciding(units)
            self._deciding, self._last_found = list(found), max(found.values(), default=0)
            self._deciding_mask = sum(1 << unit for unit in self._deciding)
            self._by_pattern = {}
            for mask, score in self.scores.items():
                self._by_pattern.setdefault(mask & self._deciding_mask, set()).add(score)
        return self._deciding


def merge_agents(agents: Iterable[Mapping[Mask, float]]) -> list[ForecastTable]:
    """The tables of some agents' scores on one task: agents whose scores never differ share one."""
    tables: list[ForecastTable] = []
    for scores in agents:
        if scores and not any(table.merge(scores) for table in tables):
            tables.append(ForecastTable(scores))
    return tables
