"""What a steady agent showed on each task, for a run with another agent or another text on the same tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillsv.model.coalition import Coalition, EarlierScore, KnownCoalition, Observation, Operator
from skillsv.model.skill import CompiledSkill
from skillsv.model.task_table import Mask, TaskTable


def find_deciding_pairs(compiled: CompiledSkill, observations: Sequence[Observation]) -> tuple[KnownCoalition, ...]:
    """For each task and each unit that decides it, two coalitions that differ in the unit alone and in their scores.

    The run must be one of a steady agent. Anchors are left out, because every run scores them.
    """
    place = {unit: number for number, unit in enumerate(compiled.execution)}
    tables: dict[str, TaskTable] = {}
    for item in observations:
        if item.score is None or not item.coalition or item.replicate or item.operator is not Operator.DELETE:
            continue
        mask = sum(1 << place[unit] for unit in item.coalition if unit in place)
        tables.setdefault(item.task, TaskTable()).add(mask, (item.score,))

    def coalition_of(mask: Mask) -> frozenset[str]:
        return frozenset((compiled.trigger, *(unit for unit, number in place.items() if mask >> number & 1)))

    return tuple(
        KnownCoalition(task=task, coalition=coalition_of(mask))
        for task, table in tables.items()
        for mask in _deciding_masks(table, len(place))
    )


def find_steady_scores(observations: Sequence[Observation]) -> tuple[EarlierScore, ...]:
    """The score of each coalition under deletion on each task, without those that another rollout did not repeat."""
    scores: dict[tuple[str, Coalition], set[float]] = {}
    for item in observations:
        if item.score is not None and item.coalition and item.operator is Operator.DELETE:
            scores.setdefault((item.task, item.coalition), set()).add(item.score)
    return tuple(
        EarlierScore(task=task, coalition=coalition, score=min(found))
        for (task, coalition), found in scores.items()
        if len(found) == 1
    )


def _deciding_masks(table: TaskTable, units: int) -> Iterator[Mask]:
    """The coalitions of the pairs, each once; pairs with coalitions that are asked for anyway come first."""
    chosen: set[Mask] = {0, (1 << units) - 1}
    for unit in table.find_deciding(units):
        bit = 1 << unit
        pairs = [
            (mask, mask | bit)
            for mask, score in table.scores.items()
            if not mask & bit and mask | bit in table.scores and table.scores[mask | bit] != score
        ]
        for mask in min(pairs, key=lambda pair: sum(mask not in chosen for mask in pair)):
            if mask not in chosen:
                chosen.add(mask)
                yield mask
