"""What truncation did: the same chains with and without it, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.errors import RecordsError
from skillsv.estimate.intervals import honest_interval
from skillsv.estimate.marginals import check_records, ladder, marginals
from skillsv.model.coalition import ChainRecord, Operator
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncationAudit:
    """Aggregate and per-unit discrepancies, kept apart: only the aggregate has a bound, and only on its window.

    `omitted` is the suffix each truncated chain left out (full minus last prefix), `bound` the tolerance; `units` are
    the differences truncated minus control per unit, `largest` the unit with the largest of them. `prefixes` and
    `prefixes_control` count evaluated prefixes.
    """

    operator: Operator
    bound: float
    omitted: tuple[float, ...]
    within_bound: bool
    units: dict[str, Interval]
    largest: str
    prefixes: int
    prefixes_control: int


def compare_with_control(
    compiled: CompiledSkill,
    truncated: Sequence[ChainRecord],
    control: Sequence[ChainRecord],
    *,
    operator: Operator = Operator.DELETE,
    level: float = 0.95,
) -> TruncationAudit:
    """Truncated chains against untruncated ones of the same orders and windows (`--tolerance off`, same seed)."""
    check_records(compiled, truncated)
    check_records(compiled, control)
    pairs = _paired(truncated, control)
    cut, whole = (marginals(compiled, side, operator) for side in zip(*pairs, strict=True))
    answers = np.minimum(cut.pairs, whole.pairs).sum(axis=0)
    spread = honest_interval(cut.change - whole.change, answers, level=level)
    units = {
        unit: Interval(float(spread.mean[place]), float(spread.low[place]), float(spread.high[place]))
        for place, unit in enumerate(compiled.execution)
    }
    omitted = tuple(_omitted(record, operator) for record, _ in pairs if record.truncated_at is not None)
    bound = max(record.plan.tolerance or 0.0 for record, _ in pairs)
    return TruncationAudit(
        operator=operator,
        bound=bound,
        omitted=omitted,
        within_bound=all(abs(suffix) <= bound + 1e-12 for suffix in omitted),
        units=units,
        largest=max(units, key=lambda unit: abs(units[unit].value)),
        prefixes=int(cut.evaluated.sum()),
        prefixes_control=int(whole.evaluated.sum()),
    )


def _paired(truncated: Sequence[ChainRecord], control: Sequence[ChainRecord]) -> list[tuple[ChainRecord, ChainRecord]]:
    by_chain = {(record.plan.order, record.plan.window): record for record in control if record.truncated_at is None}
    pairs = [
        (record, by_chain[record.plan.order, record.plan.window])
        for record in truncated
        if (record.plan.order, record.plan.window) in by_chain
    ]
    if len(pairs) < 2:
        raise RecordsError(
            f"only {len(pairs)} of the truncated chains have an untruncated control with the same order and window.",
            hint="Run the control with the same seed and --tolerance off.",
        )
    return pairs


def _omitted(record: ChainRecord, operator: Operator) -> float:
    """The window-level sum of what was cut off: v(N) - v(S_j), over the tasks scored on both sides."""
    rungs = ladder(record, operator)
    gaps = rungs[-1] - rungs[record.truncated_at or 0]
    return float(np.nanmean(gaps)) if not np.isnan(gaps).all() else 0.0
