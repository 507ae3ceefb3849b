"""What the scores of earlier agents suggest for each task, and the coalitions that check it with this agent.

It chooses coalitions, and counts as no score of this agent. A coalition is asked for where an earlier agent's table
says that one unit changes the score, and one holds the units that decide alone. Agents whose scores on a task never
differ share one table. The next table of a task is used only where this agent contradicted those before it, and not
the next one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from skillsv.model.forecast_table import ForecastTable
from skillsv.model.task_table import Mask, Score

Pair = tuple[Mask, Mask]
"""Two coalitions that differ in one unit: without it, and with it."""


def choose_coalitions(table: ForecastTable, needed: Sequence[Mask]) -> list[Mask]:
    """Coalitions that show each deciding unit by a pair that differs in it alone; the anchors are known already.

    The last one holds the deciding units alone, where its score is forecast: it shows what this agent needs besides.
    The pair with the fewest further coalitions is taken first. One coalition of a pair may be one that the earlier
    agents were not asked: its score is forecast. `needed` holds for each unit the units that must be there with it.
    """
    units = len(needed)
    chosen: dict[Mask, None] = {0: None, (1 << units) - 1: None}
    left = list(table.find_deciding())
    while left:
        pairs = [(unit, pair) for unit in left for pair in _changing_pairs(table, unit, chosen, needed)]
        unit, pair = min(pairs, key=lambda one: sum(mask not in chosen for mask in one[1]))
        left.remove(unit)
        chosen.update(dict.fromkeys(pair))
    alone = _deciding_alone(table, needed)
    if table.forecast(alone) is not None:
        chosen.setdefault(alone)
    return list(chosen)[2:]


def _deciding_alone(table: ForecastTable, needed: Sequence[Mask]) -> Mask:
    """The deciding units with what they need and no other unit: a unit that this agent needs besides shows there."""
    return reduce(or_, (needed[unit] for unit in table.find_deciding()), 0)


def find_shared_units(table: ForecastTable, own: Mapping[Mask, Score]) -> list[int]:
    """The units that alone change the score of this agent, from a forecast score to a forecast score."""

    def holds(mask: Mask) -> bool:
        return table.forecast(mask) == own[mask][0]

    return [
        unit
        for unit in table.find_deciding()
        if any(
            own[with_unit] != own[without] and holds(without) and holds(with_unit)
            for without, with_unit in _pairs_among(own, unit)
        )
    ]


def _changing_pairs(
    table: ForecastTable, unit: int, chosen: Collection[Mask], needed: Sequence[Mask]
) -> Iterator[Pair]:
    """The pairs at which this unit changes the score: scored ones first, then chosen coalitions with a forecast."""
    for without, with_unit in _pairs_among(table.scores, unit):
        if table.scores[without] != table.scores[with_unit]:
            yield without, with_unit
    for mask in chosen:
        pair = mask & ~(1 << unit), mask | 1 << unit
        scores = [table.forecast(one) for one in pair]
        if None not in scores and scores[0] != scores[1] and all(_is_closed(one, needed) for one in pair):
            yield pair


def _pairs_among(scores: Collection[Mask], unit: int) -> Iterator[Pair]:
    """The pairs of these coalitions that differ in this unit alone."""
    bit = 1 << unit
    return ((mask, mask | bit) for mask in scores if not mask & bit and mask | bit in scores)


def _is_closed(mask: Mask, needed: Sequence[Mask]) -> bool:
    return all(closure & ~mask == 0 for unit, closure in enumerate(needed) if mask >> unit & 1)


@dataclass(slots=True)
class TaskSuggestions:
    """The tables of earlier agents for one task, in the order of the agents, and which of them were used."""

    tables: list[ForecastTable]
    used: list[ForecastTable] = field(default_factory=list)

    def next_coalitions(self, own: Mapping[Mask, Score], needed: Sequence[Mask]) -> list[Mask]:
        """Coalitions to ask this agent for next, given its scores on the task; none once a used table holds."""
        while (table := self._next_table(own)) is not None:
            self.used.append(table)
            new = [mask for mask in choose_coalitions(table, needed) if mask not in own]
            if new:
                return new
        return []

    def _next_table(self, own: Mapping[Mask, Score]) -> ForecastTable | None:
        """The unused table with the fewest contradictions; none where a used table holds, or all were contradicted."""
        if any(not table.contradictions(own) for table in self.used):
            return None
        left = [table for table in self.tables if table not in self.used]
        best = min(left, key=lambda table: table.contradictions(own), default=None)
        return None if best is None or (self.used and best.contradictions(own)) else best

    def holds(self, own: Mapping[Mask, Score]) -> bool:
        """Whether an earlier agent searched the task, and no score of this agent differs from its forecasts."""
        return bool(own) and any(table.searched and not table.contradictions(own) for table in self.tables)

    def shared_units(self, own: Mapping[Mask, Score]) -> list[int]:
        """The units that change this agent's score as they changed that of an earlier agent."""
        units: Iterable[int] = (unit for table in self.tables for unit in find_shared_units(table, own))
        return list(dict.fromkeys(units))
