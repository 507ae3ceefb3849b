"""The scored coalitions of one task, and the units that decide the task's score.

The adaptive policy (`rollout`) fills a table while it searches; the adaptive estimate builds the same table from the
records. Both use these definitions:

- A unit is *deciding* for a task when two scored coalitions that differ only in this unit have different scores.
- The *pattern* of a coalition is the set of deciding units that it holds. Under a deterministic agent all coalitions
  with the same pattern have the same score.
- Two coalitions with the same pattern and different scores are a *conflict*: a deciding unit that is not known yet
  lies between them.

The policy finds deciding units one at a time, by bisecting a conflict (`add_deciding`); the estimate finds all of them
at once, by comparing all scored coalitions (`find_deciding`). Where no conflict is left, both give the same units.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import reduce
from operator import and_, or_

Mask = int
"""A coalition as bits: bit i stands for execution unit i. The trigger is always in the coalition."""

Score = tuple[float, ...]
"""One score per operator. A coalition is scored under all operators of the table or not at all."""


class TaskTable:
    """The scored coalitions of one task, grouped by pattern.

    `scores` keeps the order in which coalitions were scored. `deciding` lists the known deciding units in the order in
    which they were added. `agreeing` counts the scores added since the last deciding unit.
    """

    def __init__(self) -> None:
        self.scores: dict[Mask, Score] = {}
        self.deciding: list[int] = []
        self.agreeing = 0
        self._deciding_mask: Mask = 0
        self._by_pattern: dict[Mask, list[Mask]] = {}
        self._conflict: tuple[Mask, Mask] | None = None

    def add(self, coalition: Mask, score: Score) -> None:
        """Store a score. A second score of the same coalition is ignored."""
        if coalition not in self.scores:
            self.scores[coalition] = score
            self._group(coalition)
            self.agreeing += 1

    def remove(self, coalition: Mask) -> None:
        """Drop a score that did not repeat."""
        del self.scores[coalition]
        self._regroup()

    def add_deciding(self, units: Iterable[int]) -> None:
        """Add deciding units: coalitions that differ in them no longer share a pattern."""
        for unit in units:
            self._deciding_mask |= 1 << unit
            self.deciding.append(unit)
        self.agreeing = 0
        self._regroup()

    def find_deciding(self, units: int) -> dict[int, int]:
        """All deciding units among the first `units`, by the definition above.

        Each has the place in `scores` of the first score that showed it. The table itself does not change.
        """
        shown: dict[int, int] = {}
        earlier: dict[Mask, Score] = {}
        for place, (coalition, score) in enumerate(self.scores.items()):
            for unit in _differing_units(coalition, earlier, units):
                if earlier[coalition ^ 1 << unit] != score:
                    shown.setdefault(unit, place)
            earlier[coalition] = score
        return shown

    def effect_of(self, unit: int) -> float:
        """The mean change of the first operator's score where only this unit was added; 0 where that was not scored."""
        bit = 1 << unit
        changes = [
            self.scores[coalition | bit][0] - score[0]
            for coalition, score in self.scores.items()
            if not coalition & bit and coalition | bit in self.scores
        ]
        return sum(changes) / len(changes) if changes else 0.0

    def score_of(self, pattern: Mask) -> Score | None:
        """The first score among the coalitions with this pattern; None if none was scored."""
        group = self._by_pattern.get(pattern)
        return None if group is None else self.scores[group[0]]

    def scores_by_pattern(self) -> dict[Mask, list[Score]]:
        """All scores of each pattern, in the order in which they were added."""
        return {pattern: [self.scores[mask] for mask in group] for pattern, group in self._by_pattern.items()}

    def unconfirmed(self) -> list[Mask]:
        """The coalitions that are the only scored ones of their pattern: no other score confirms theirs."""
        return [group[0] for group in self._by_pattern.values() if len(group) == 1]

    @property
    def conflict(self) -> tuple[Mask, Mask] | None:
        """Two coalitions with the same pattern and different scores, if any: the one scored later comes first."""
        return self._conflict

    def suspects(self) -> Mask:
        """The units that differ between the two nearest coalitions with the same pattern and different scores."""
        differences = [
            one ^ other
            for group in self._by_pattern.values()
            if len({self.scores[coalition] for coalition in group}) > 1
            for place, one in enumerate(group)
            for other in group[:place]
            if self.scores[one] != self.scores[other]
        ]
        return min(differences, key=lambda units: (units.bit_count(), units), default=0)

    def compared(self, everything: Mask) -> Mask:
        """The units that differ between coalitions with the same pattern and score, not all of them anchors."""
        units = 0
        for group in self._by_pattern.values():
            same_score = len({self.scores[coalition] for coalition in group}) == 1
            if same_score and not {0, everything}.issuperset(group):
                units |= reduce(or_, group) & ~reduce(and_, group)
        return units

    def _regroup(self) -> None:
        self._by_pattern, self._conflict = {}, None
        for coalition in self.scores:
            self._group(coalition)

    def _group(self, coalition: Mask) -> None:
        group = self._by_pattern.setdefault(coalition & self._deciding_mask, [])
        score = self.scores[coalition]
        if group and self._conflict is None and self.scores[group[0]] != score:
            others = (other for other in group if self.scores[other] != score)
            self._conflict = (coalition, min(others, key=lambda other: ((other ^ coalition).bit_count(), other)))
        group.append(coalition)


def _differing_units(coalition: Mask, others: Collection[Mask], units: int) -> list[int]:
    """The units that alone tell a coalition apart from one of the others; the fewer of units and others are tried."""
    if len(others) < units:
        differences = (coalition ^ other for other in others)
        return sorted(one.bit_length() - 1 for one in differences if one.bit_count() == 1 and one.bit_length() <= units)
    return [unit for unit in range(units) if coalition ^ 1 << unit in others]
