"""Chain records as arrays of paired marginals: one row per chain, one column per execution unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillsv.errors import RecordsError
from skillsv.model.coalition import ChainRecord, Operator, Scores
from skillsv.model.skill import CompiledSkill

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals:
    """The marginals of one operator: the change of the window mean when a unit enters, per chain and unit.

    `change` is v(S_j, B_k) - v(S_(j-1), B_k), and NaN where no task of the window B_k was scored on both sides. `pairs`
    counts the tasks behind each entry (all tasks of the window where truncation set the marginal to zero), `evaluated`
    says whether the step was run.
    """

    change: Floats
    pairs: Counts
    evaluated: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainAnchors:
    """The anchors of every chain on its window, and their paired differences (NaN: no task has both scores)."""

    empty: Floats
    trigger: Floats
    full: Floats
    trigger_gain: Floats
    content_gain: Floats


def check_records(compiled: CompiledSkill, records: Sequence[ChainRecord]) -> None:
    """Raise `RecordsError` for records that would give a wrong number or none."""
    if not records:
        raise RecordsError(
            "no chain has finished, so there is nothing to estimate from.", hint="Run the same command again to resume."
        )
    operators = records[0].plan.operators
    if Operator.DELETE not in operators:
        raise RecordsError(
            "the chains were not run under deletion, and net effects need it.", hint="Add `delete` to --operators."
        )
    for record in records:
        where = f"chain {record.plan.index}"
        if record.plan.operators != operators:
            raise RecordsError(
                "its operators differ from those of the first chain.", where=where, hint="Do not mix runs."
            )
        if record.plan.order[0] != compiled.trigger or frozenset(record.plan.order) != compiled.everything:
            raise RecordsError(
                "its units are not the units of this skill.",
                where=where,
                hint="The records belong to another skill or to another version of it; start a fresh run.",
            )
        _check_scores(record, where)


def _check_scores(record: ChainRecord, where: str) -> None:
    width = len(record.plan.window.tasks)
    if not width:
        raise RecordsError("its task window is empty.", where=where)
    for scores in _all_scores(record):
        if len(scores) != width:
            raise RecordsError(f"a step holds {len(scores)} scores for a window of {width} tasks.", where=where)
        for score in scores:
            if score is None or 0.0 <= score <= 1.0:
                continue
            shown = "NaN" if math.isnan(score) else f"{score:g}"
            raise RecordsError(
                f"it holds the score {shown}, and a score lies between 0 and 1.",
                where=where,
                hint="Check the verifier.",
            )


def _all_scores(record: ChainRecord) -> Iterator[Scores]:
    yield record.empty
    yield from record.trigger
    yield record.full
    for step in record.steps:
        yield step.scores


def count_missing(records: Sequence[ChainRecord]) -> int:
    """The number of scores that are missing because the infrastructure failed."""
    return sum(scores.count(None) for record in records for scores in _all_scores(record))


def marginals(compiled: CompiledSkill, records: Sequence[ChainRecord], operator: Operator) -> Marginals:
    """The marginals of one operator along every chain (the summands of Eq. 4), with units in document order."""
    column = {unit: index for index, unit in enumerate(compiled.execution)}
    shape = (len(records), len(column))
    change, pairs = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    evaluated = np.zeros(shape, dtype=np.bool_)
    for row, record in enumerate(records):
        scores = prefix_scores(record, operator)
        columns = np.fromiter((column[unit] for unit in record.plan.order[1:]), dtype=np.intp, count=len(column))
        means, counts = _paired_means(np.diff(scores, axis=0))
        change[row, columns], pairs[row, columns], evaluated[row, columns] = means, counts, counts > 0
        if record.truncated_at is not None:
            skipped = columns[record.truncated_at :]
            change[row, skipped], pairs[row, skipped], evaluated[row, skipped] = 0.0, scores.shape[1], False
    return Marginals(change=change, pairs=pairs, evaluated=evaluated)


def prefix_scores(record: ChainRecord, operator: Operator) -> Floats:
    """The scores of every prefix S_j from {m} to N, a row each; NaN where a score is missing or was not run."""
    order, missing = record.plan.order, (None,) * len(record.plan.window.tasks)
    by_unit: Mapping[str, Scores] = {step.unit: step.scores for step in record.steps if step.operator is operator}
    rows = [record.trigger[record.plan.operators.index(operator)]]
    rows.extend(by_unit.get(unit, missing) for unit in order[1:-1])
    rows.append(record.full)
    return np.array(rows, dtype=np.float64)


def _paired_means(differences: Floats) -> tuple[Floats, Counts]:
    """For each row the mean over the tasks with both scores, and the number of these tasks."""
    present = ~np.isnan(differences)
    counts = present.sum(axis=-1)
    sums = np.where(present, differences, 0.0).sum(axis=-1)
    means = np.full(counts.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means, counts


def chain_anchors(records: Sequence[ChainRecord]) -> ChainAnchors:
    """V(empty), V({m}) and V(N) under deletion on each chain's window; theta_m and Lambda as paired differences."""
    empty = _stack([record.empty for record in records])
    trigger = _stack([record.trigger[record.plan.operators.index(Operator.DELETE)] for record in records])
    full = _stack([record.full for record in records])
    return ChainAnchors(
        empty=_paired_means(empty)[0],
        trigger=_paired_means(trigger)[0],
        full=_paired_means(full)[0],
        trigger_gain=_paired_means(trigger - empty)[0],
        content_gain=_paired_means(full - trigger)[0],
    )


def _stack(rows: list[Scores]) -> Floats:
    """Rows of different lengths as one array, filled with NaN."""
    width = max(map(len, rows))
    return np.array([(*row, *(None,) * (width - len(row))) for row in rows], dtype=np.float64)
