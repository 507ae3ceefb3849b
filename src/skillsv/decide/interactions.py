"""Pairs of units that seem redundant or complementary, found in the records of a run. Costs no rollouts.

A unit that changes scores only while another unit is absent is redundant with it; one that changes scores only while
another is present complements it. `skillsv.confirmation.interaction_tests` tests such pairs directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from skillsv.decide.pruning import Partners
from skillsv.model.coalition import ChainRecord, Coalition, Observation, Operator
from skillsv.model.skill import CompiledSkill

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

SUSPICIOUS = 3.0
"""Standard errors beyond which a pair is worth a direct test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectedPair:
    """A pair of units that seem redundant (`score` below zero) or complementary (above), in standard errors."""

    first: str
    second: str
    score: float


@dataclass(frozen=True, slots=True)
class _Change:
    """The score of one task changed by `amount` when `unit` entered the coalition `before`."""

    unit: str
    before: Coalition
    amount: float


@dataclass(frozen=True, slots=True)
class _ChangeSums:
    """Sums of the changes by units (rows) while each unit (columns) was present or absent, and of squares.

    Of the many units of a long skill few change a score, and only those have a row: `columns` are their columns.
    """

    units: tuple[str, ...]
    columns: Numbers
    present: Floats
    absent: Floats
    squares: Floats

    def scores(self) -> Floats:
        """How much the changes by two units depend on the presence of the other, in standard errors."""
        excess = self.present - self.absent
        squares = np.zeros(len(self.units))
        squares[self.columns] = self.squares
        both = excess.copy()
        both[:, self.columns] += excess[:, self.columns].T
        scores: Floats = both / np.sqrt(self.squares[:, None] + squares[None, :])
        return scores


def find_suspected_pairs(
    compiled: CompiledSkill, records: Sequence[ChainRecord], observations: Sequence[Observation]
) -> list[SuspectedPair]:
    """Find the pairs of units whose effects depend on each other, the most suspicious first.

    If two units were independent, the other would be present at half of the changes by one, whatever their size.
    """
    return _suspected_pairs(compiled, _sum_changes(compiled, records, observations))


def find_partners(
    compiled: CompiledSkill, records: Sequence[ChainRecord], observations: Sequence[Observation]
) -> Partners:
    """For a unit its partner, and the factors of the unit's value while the partner is kept and after it is removed.

    Orders put each unit of a pair first equally often. So a redundant unit is worth nothing beside its partner and
    twice its value without it. Of a complementary pair the unit removed first takes away what both were worth, of which
    half was counted for each; the second is then worth nothing.

    Sections enter together, so the neighbours of a redundant unit look redundant, too. Therefore each unit has at most
    one partner: the one with the highest score, and only if this holds for both.
    """
    sums = _sum_changes(compiled, records, observations)
    column = {unit: number for number, unit in enumerate(sums.units)}
    row = {sums.units[number]: place for place, number in enumerate(sums.columns.tolist())}
    best: dict[str, str] = {}
    for pair in _suspected_pairs(compiled, sums):
        best.setdefault(pair.first, pair.second)
        best.setdefault(pair.second, pair.first)
    partners = {}
    for unit, partner in best.items():
        if best[partner] != unit or unit not in row:
            continue
        present = sums.present[row[unit], column[partner]]
        total = present + sums.absent[row[unit], column[partner]]
        if total > 0:
            share = float(np.clip(present / total, 0, 1))
            partners[unit] = (partner, min(1.0, 2 * share), 2 - 2 * share)
    return partners


def _suspected_pairs(compiled: CompiledSkill, sums: _ChangeSums) -> list[SuspectedPair]:
    scores, units = sums.scores(), sums.units
    found: dict[tuple[int, int], float] = {}
    for row, second in zip(*np.nonzero(np.abs(scores) >= SUSPICIOUS), strict=True):
        first = int(sums.columns[row])
        if first != second:
            found[min(first, int(second)), max(first, int(second))] = float(scores[row, second])
    pairs = [
        SuspectedPair(first=units[first], second=units[second], score=score)
        for (first, second), score in sorted(found.items())
        if not _order_is_fixed(compiled, units[first], units[second])
    ]
    return sorted(pairs, key=lambda pair: -abs(pair.score))


def _order_is_fixed(compiled: CompiledSkill, one: str, other: str) -> bool:
    """Whether one unit needs the other: then one is never present without the other, and the records say nothing."""
    return other in compiled.closure(frozenset({one})) or one in compiled.closure(frozenset({other}))


def _sum_changes(
    compiled: CompiledSkill, records: Sequence[ChainRecord], observations: Sequence[Observation]
) -> _ChangeSums:
    units = compiled.execution
    column_of = {unit: number for number, unit in enumerate(units)}
    changes = [*_changes_in_chains(records), *_changes_in_observations(observations)]
    columns = sorted({column_of[change.unit] for change in changes if change.unit in column_of})
    row_of = {units[column]: row for row, column in enumerate(columns)}
    present, absent = np.zeros((len(columns), len(units))), np.zeros((len(columns), len(units)))
    squares = np.zeros(len(columns))
    for change in changes:
        row = row_of.get(change.unit)
        if row is not None:
            is_present = np.array([unit in change.before for unit in units])
            present[row] += change.amount * is_present
            absent[row] += change.amount * ~is_present
            squares[row] += change.amount**2
    return _ChangeSums(units, np.array(columns, dtype=np.int64), present, absent, squares)


def _changes_in_chains(records: Iterable[ChainRecord]) -> Iterator[_Change]:
    for record in records:
        last: Mapping[Operator, Sequence[float | None]] = dict(zip(record.plan.operators, record.trigger, strict=True))
        for step in record.steps:
            if step.operator is not Operator.DELETE:
                continue
            before = frozenset(record.plan.order[: step.position])
            for old, new in zip(last[step.operator], step.scores, strict=True):
                if old is not None and new is not None and old != new:
                    yield _Change(step.unit, before, new - old)
            last = {**last, step.operator: step.scores}


def _changes_in_observations(observations: Iterable[Observation]) -> Iterator[_Change]:
    """Pairs of coalitions of one task that differ by one unit and scored differently."""
    known: dict[tuple[str, int], dict[Coalition, float]] = {}
    for observation in observations:
        if observation.operator is Operator.DELETE and observation.score is not None:
            scores = known.setdefault((observation.task, observation.replicate), {})
            scores[observation.coalition] = observation.score
    for scores in known.values():
        sizes = sorted({len(coalition) for coalition in scores})
        for small, large in pairwise(sizes):
            if large != small + 1:
                continue
            smaller = [coalition for coalition in scores if len(coalition) == small]
            for after in (coalition for coalition in scores if len(coalition) == large):
                for before in smaller:
                    if before < after and scores[before] != scores[after]:
                        (unit,) = after - before
                        yield _Change(unit, before, scores[after] - scores[before])
