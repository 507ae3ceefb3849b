"""Pairs of units that stand in for each other, or need each other: suspected from the records, then tested directly.

A unit that only counts while another is absent is redundant with it; one that only counts while another is present
complements it. Suspicion costs nothing. The test removes one, the other, and both, on the same tasks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from skillsv.confirm.gate import bounded_interval
from skillsv.confirm.scoring import Floats
from skillsv.errors import RecordsError
from skillsv.model.coalition import ChainRecord, Coalition, Observation, Operator
from skillsv.model.rollout import Answers, Request
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Interval

SUSPICIOUS = 3.0
"""Standard errors of chance beyond which a pair is worth a direct test."""

_USUAL_REACH = 1.0
"""How far one task can tip the balance, unless one is seen to do more (units that spoil each other may reach 2)."""


class Relation(StrEnum):
    """How two units act together."""

    REDUNDANT = "redundant"
    COMPLEMENTARY = "complementary"
    INDEPENDENT = "independent"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """A pair whose marginals hang together. `score` in standard errors: negative redundant, positive complementary."""

    first: str
    second: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What removing one, the other and both costs, and the interaction: both minus one minus the other."""

    first: str
    second: str
    without_first: Interval
    without_second: Interval
    without_both: Interval
    interaction: Interval
    relation: Relation
    tasks: int


@dataclass(frozen=True, slots=True)
class _Turn:
    """A unit entered at `before`, and one task's score changed by `change`."""

    unit: str
    before: Coalition
    change: float


@dataclass(frozen=True, slots=True)
class _Leanings:
    """Changes of each unit (rows) while each other one (columns) was there and while it was not, and their squares."""

    units: tuple[str, ...]
    present: Floats
    absent: Floats
    squares: Floats

    def scores(self) -> Floats:
        """How far the changes of two units lean to the other's presence, in standard errors of chance."""
        lean = self.present - self.absent
        total = np.sqrt(self.squares[:, None] + self.squares[None, :])
        scores: Floats = np.divide(lean + lean.T, total, out=np.zeros_like(lean), where=total > 0)
        return scores


def _leanings(units: tuple[str, ...], turns: Iterable[_Turn]) -> _Leanings:
    place = {unit: number for number, unit in enumerate(units)}
    present, absent = np.zeros((len(units), len(units))), np.zeros((len(units), len(units)))
    squares = np.zeros(len(units))
    for turn in turns:
        row = place.get(turn.unit)
        if row is not None:
            there = np.array([unit in turn.before for unit in units])
            present[row] += turn.change * there
            absent[row] += turn.change * ~there
            squares[row] += turn.change**2
    return _Leanings(units, present, absent, squares)


def suspected(
    compiled: CompiledSkill, records: Sequence[ChainRecord], observations: Sequence[Observation]
) -> list[Suspicion]:
    """Pairs of units whose changes depend on whether the other one was there already, the most suspicious first.

    Were two units independent, the other would be present at half of the changes of one, whatever their size.
    """
    turns = (*_chain_turns(records), *_observed_turns(observations))
    return _suspected(compiled, _leanings(compiled.execution, turns))


def _suspected(compiled: CompiledSkill, leanings: _Leanings) -> list[Suspicion]:
    scores, units = leanings.scores(), leanings.units
    rows, columns = np.nonzero(np.triu(np.abs(scores) >= SUSPICIOUS, k=1))
    found = [
        Suspicion(first=units[one], second=units[other], score=float(scores[one, other]))
        for one, other in zip(rows.tolist(), columns.tolist(), strict=True)
        if not _tied(compiled, units[one], units[other])
    ]
    return sorted(found, key=lambda each: -abs(each.score))


def partners_of(
    compiled: CompiledSkill, records: Sequence[ChainRecord], observations: Sequence[Observation]
) -> dict[str, tuple[str, float, float]]:
    """For a unit its partner, and how many times its value it is worth while the partner is there, and once it is gone.

    Orders put each of two first equally often: a redundant unit is worth nothing beside its twin and twice its value
    without it; of a complementary pair the first to go takes along what both were worth, half of it counted for each,
    and the second is worth nothing then. Neighbours of a twin look like twins, too, because sections enter together; so
    each unit has one partner at most, the one that it is most suspicious with, and only if both agree.
    """
    leanings = _leanings(compiled.execution, (*_chain_turns(records), *_observed_turns(observations)))
    place = {unit: number for number, unit in enumerate(leanings.units)}
    best: dict[str, str] = {}
    for pair in _suspected(compiled, leanings):
        best.setdefault(pair.first, pair.second)
        best.setdefault(pair.second, pair.first)
    found = {}
    for one, other in best.items():
        there = leanings.present[place[one], place[other]]
        total = there + leanings.absent[place[one], place[other]]
        if best[other] == one and total > 0:
            share = float(np.clip(there / total, 0, 1))
            found[one] = (other, min(1.0, 2 * share), 2 - 2 * share)
    return found


def _tied(compiled: CompiledSkill, one: str, other: str) -> bool:
    """Whether one needs the other: then their order is fixed, and says nothing."""
    return other in compiled.closure(frozenset({one})) or one in compiled.closure(frozenset({other}))


def _chain_turns(records: Iterable[ChainRecord]) -> Iterator[_Turn]:
    for record in records:
        last: Mapping[Operator, Sequence[float | None]] = dict(zip(record.plan.operators, record.trigger, strict=True))
        for step in record.steps:
            if step.operator is not Operator.DELETE:
                continue
            before = frozenset(record.plan.order[: step.position])
            for old, new in zip(last[step.operator], step.scores, strict=True):
                if old is not None and new is not None and old != new:
                    yield _Turn(step.unit, before, new - old)
            last = {**last, step.operator: step.scores}


def _observed_turns(observations: Iterable[Observation]) -> Iterator[_Turn]:
    """Neighbouring coalitions of one task, one unit apart, that scored differently."""
    known: dict[tuple[str, int], dict[Coalition, float]] = {}
    for seen in observations:
        if seen.operator is Operator.DELETE and seen.score is not None:
            known.setdefault((seen.task, seen.replicate), {})[seen.coalition] = seen.score
    for scores in known.values():
        by_size = sorted({len(coalition) for coalition in scores})
        for small, large in pairwise(by_size):
            if large != small + 1:
                continue
            lower = [each for each in scores if len(each) == small]
            for upper in (each for each in scores if len(each) == large):
                for below in lower:
                    if below < upper and scores[below] != scores[upper]:
                        (unit,) = upper - below
                        yield _Turn(unit, below, scores[upper] - scores[below])


def removals(compiled: CompiledSkill, one: str, other: str) -> tuple[Coalition, Coalition, Coalition, Coalition]:
    """The whole skill, without one, without the other, without both, each with all that needs it."""
    first, second = (compiled.reverse_closure(frozenset({unit})) for unit in (one, other))
    if other in first or one in second:
        raise RecordsError(
            f"{one} and {other} need each other: removing one removes both.", hint="Choose units that can go alone."
        )
    everything = compiled.everything
    return everything, everything - first, everything - second, everything - first - second


def pairs_policy(
    wanted: Sequence[Coalition], tasks: Sequence[str], *, replicates: int = 1
) -> Generator[tuple[Request, ...], Answers, dict[Coalition, Floats]]:
    """Scores of every coalition on the window, means over replicates; NaN where one is missing."""
    coalitions = tuple(dict.fromkeys(wanted))
    answers = yield tuple(
        _request(each, task, number) for each in coalitions for task in tasks for number in range(replicates)
    )
    table = {}
    for each in coalitions:
        rows = [[answers[_request(each, task, number)] for number in range(replicates)] for task in tasks]
        table[each] = np.array(rows, dtype=np.float64).mean(axis=1)  # None becomes NaN
    return table


def _request(coalition: Coalition, task: str, replicate: int) -> Request:
    return Request(coalition=coalition, operator=Operator.DELETE, task=task, replicate=replicate, why="pairs")


def judge_pair(
    compiled: CompiledSkill,
    pair: tuple[str, str],
    scores: Mapping[Coalition, Floats],
    *,
    level: float,
    resolution: float,
    rng: np.random.Generator,
) -> Tested:
    """Redundant where both together cost more than each alone, complementary where less; honest where neither shows."""
    rows = np.stack([scores[each] for each in removals(compiled, *pair)])
    whole, first, second, both = rows[:, ~np.isnan(rows).any(axis=0)]
    if not len(whole):
        raise RecordsError(f"no task was scored with and without {pair[0]} and {pair[1]}.", hint="Run it again.")
    losses = {"without_first": whole - first, "without_second": whole - second, "without_both": whole - both}
    interaction = _interval(losses["without_both"] - losses["without_first"] - losses["without_second"], level, rng)
    return Tested(
        first=pair[0],
        second=pair[1],
        interaction=interaction,
        relation=_relation(interaction, resolution),
        tasks=len(whole),
        **{name: _interval(values, level, rng) for name, values in losses.items()},
    )


def _interval(values: Floats, level: float, rng: np.random.Generator) -> Interval:
    reach = max(_USUAL_REACH, float(np.abs(values).max()))
    return Interval(float(values.mean()), *bounded_interval(values, level, rng, bounds=(-reach, reach)))


def _relation(interaction: Interval, resolution: float) -> Relation:
    if interaction.low > 0:
        return Relation.REDUNDANT
    if interaction.high < 0:
        return Relation.COMPLEMENTARY
    small = -resolution <= interaction.low and interaction.high <= resolution
    return Relation.INDEPENDENT if small else Relation.UNRESOLVED
