"""The paired differences that a unit made in each chain, for the drawings: its value is their mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillsv.model.coalition import ChainRecord, ChainStep, Operator, Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """One paired difference: the prefix with the unit against the prefix before it, on the same tasks.

    `truncated`: the chain had stopped before this unit, so the difference counts as zero. `value` None: no
    task has both scores. `trees` name the two renderings, so that the rollouts on both sides can be found.
    """

    chain: int
    operator: Operator
    position: int
    value: float | None
    before: Scores = ()
    after: Scores = ()
    tasks: tuple[str, ...] = ()
    trees: tuple[str, str] = ("", "")
    truncated: bool = False


def mean(scores: Scores) -> float | None:
    """The mean over the tasks that have a score."""
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None


def paired_difference(before: Scores, after: Scores) -> float | None:
    """Mean difference over the tasks scored on both sides: a pair with a missing score is left out, it is not zero."""
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old is not None and new is not None]
    return sum(new - old for old, new in pairs) / len(pairs) if pairs else None


def marginals_by_unit(records: Sequence[ChainRecord]) -> Mapping[str, list[Marginal]]:
    """Every unit's differences over all chains and operators, in the order of the records."""
    table: dict[str, list[Marginal]] = defaultdict(list)
    for record in records:
        for index, operator in enumerate(record.plan.operators):
            for unit, marginal in _chain_marginals(record, operator, record.trigger[index]):
                table[unit].append(marginal)
    return table


def steps_of(record: ChainRecord, operator: Operator) -> list[ChainStep]:
    """The evaluated prefixes of one operator, in order."""
    return sorted((step for step in record.steps if step.operator is operator), key=lambda step: step.position)


def _chain_marginals(record: ChainRecord, operator: Operator, start: Scores) -> Iterator[tuple[str, Marginal]]:
    before, tree, position = start, "", 0
    for step in steps_of(record, operator):
        yield (
            step.unit,
            Marginal(
                chain=record.plan.index,
                operator=operator,
                position=step.position,
                value=paired_difference(before, step.scores),
                before=before,
                after=step.scores,
                tasks=record.plan.window.tasks,
                trees=(tree, step.tree),
            ),
        )
        before, tree, position = step.scores, step.tree, step.position
    if record.truncated_at is not None:
        for later in range(position + 1, len(record.plan.order)):
            zero = Marginal(chain=record.plan.index, operator=operator, position=later, value=0.0, truncated=True)
            yield record.plan.order[later], zero


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreChange:
    """One task whose score changed when a unit was added; its rollouts show what the unit does."""

    task: str
    chain: int
    operator: Operator
    before: float
    after: float
    trees: tuple[str, str]


def score_changes(marginals: Sequence[Marginal]) -> list[ScoreChange]:
    """All tasks whose score changed, largest loss first, largest gain last."""
    changes = [
        ScoreChange(task=task, chain=item.chain, operator=item.operator, before=old, after=new, trees=item.trees)
        for item in marginals
        for task, old, new in zip(item.tasks, item.before, item.after, strict=True)
        if old is not None and new is not None and old != new
    ]
    return sorted(changes, key=lambda change: (change.after - change.before, change.chain, change.task))
