"""Chain records as arrays: one row per chain, one column per unit, the paired marginal in between."""

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
    """One operator's marginals: the change of the window mean when a unit enters, per chain and unit.

    `change` is NaN where no task of the window was scored on both sides of the step. `pairs` counts the tasks behind
    each entry (all tasks of the window where truncation set the marginal to zero), `evaluated` says whether the step
    was really run.
    """

    change: Floats
    pairs: Counts
    evaluated: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored:
    """The anchors of every chain on its window, and their paired differences (NaN: nothing to pair)."""

    empty: Floats
    trigger: Floats
    full: Floats
    trigger_gain: Floats
    content_gain: Floats


def check_records(compiled: CompiledSkill, records: Sequence[ChainRecord]) -> None:
    """Refuse records that would give a silent or a wrong number."""
    if not records:
        raise RecordsError(
            "no chain has finished, so there is nothing to estimate from.", hint="Run the same command again to resume."
        )
    operators = records[0].plan.operators
    if Operator.DELETE not in operators:
        raise RecordsError(
            "the chains were not run under deletion, and net effects rest on it.", hint="Add `delete` to --operators."
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
    """Scores that the infrastructure failed to give. The step of a whole record may also be absent; see `Marginals`."""
    return sum(scores.count(None) for record in records for scores in _all_scores(record))


def marginals(compiled: CompiledSkill, records: Sequence[ChainRecord], operator: Operator) -> Marginals:
    """The telescoping differences of one operator along every chain, put into document order of the units."""
    column = {unit: index for index, unit in enumerate(compiled.execution)}
    shape = (len(records), len(column))
    change, pairs = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    evaluated = np.zeros(shape, dtype=np.bool_)
    for row, record in enumerate(records):
        rungs = ladder(record, operator)
        seat = np.fromiter((column[unit] for unit in record.plan.order[1:]), dtype=np.intp, count=len(column))
        means, counts = _paired_means(np.diff(rungs, axis=0))
        change[row, seat], pairs[row, seat], evaluated[row, seat] = means, counts, counts > 0
        if record.truncated_at is not None:
            skipped = seat[record.truncated_at :]
            change[row, skipped], pairs[row, skipped], evaluated[row, skipped] = 0.0, rungs.shape[1], False
    return Marginals(change=change, pairs=pairs, evaluated=evaluated)


def ladder(record: ChainRecord, operator: Operator) -> Floats:
    """Scores of every prefix from {m} to N, a row each; NaN where a score is missing or was never run."""
    order, missing = record.plan.order, (None,) * len(record.plan.window.tasks)
    by_unit: Mapping[str, Scores] = {step.unit: step.scores for step in record.steps if step.operator is operator}
    rows = [record.trigger[record.plan.operators.index(operator)]]
    rows.extend(by_unit.get(unit, missing) for unit in order[1:-1])
    rows.append(record.full)
    return np.array(rows, dtype=np.float64)


def _paired_means(differences: Floats) -> tuple[Floats, Counts]:
    """The mean over the tasks present on both sides, row by row, and how many they were."""
    present = ~np.isnan(differences)
    counts = present.sum(axis=-1)
    sums = np.where(present, differences, 0.0).sum(axis=-1)
    means = np.full(counts.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means, counts


def anchored(records: Sequence[ChainRecord]) -> Anchored:
    """V(empty), V({m}) under deletion and V(N) on each chain's window; theta_m and Lambda as paired differences."""
    empty = _stack([record.empty for record in records])
    trigger = _stack([record.trigger[record.plan.operators.index(Operator.DELETE)] for record in records])
    full = _stack([record.full for record in records])
    return Anchored(
        empty=_paired_means(empty)[0],
        trigger=_paired_means(trigger)[0],
        full=_paired_means(full)[0],
        trigger_gain=_paired_means(trigger - empty)[0],
        content_gain=_paired_means(full - trigger)[0],
    )


def _stack(rows: list[Scores]) -> Floats:
    """Rows of different lengths in one array, filled up with NaN."""
    width = max(map(len, rows))
    return np.array([(*row, *(None,) * (width - len(row))) for row in rows], dtype=np.float64)
