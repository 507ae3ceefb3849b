"""The effect of truncation: the same chains with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.errors import RecordsError
from skillsv.estimate.intervals import widened_interval
from skillsv.estimate.marginals import check_records, marginals, prefix_scores
from skillsv.model.coalition import ChainRecord, Operator
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncationAudit:
    """Differences between truncated chains and their untruncated controls.

    `omitted` holds, per truncated chain, the total of the marginals it left out (full skill minus last prefix); the
    tolerance tau bounds only this total, and only on the chain's window. `bound` is the largest tau. `units` are the
    differences truncated minus control per unit, `largest` names the unit with the largest one. `prefixes` and
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
    """Compare truncated chains with untruncated ones of the same orders and windows (`--tolerance off`, same seed)."""
    check_records(compiled, truncated)
    check_records(compiled, control)
    pairs = _paired(truncated, control)
    cut, complete = (marginals(compiled, side, operator) for side in zip(*pairs, strict=True))
    answers = np.minimum(cut.pairs, complete.pairs).sum(axis=0)
    spread = widened_interval(cut.change - complete.change, answers, level=level)
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
        within_bound=all(abs(total) <= bound + 1e-12 for total in omitted),
        units=units,
        largest=max(units, key=lambda unit: abs(units[unit].value)),
        prefixes=int(cut.evaluated.sum()),
        prefixes_control=int(complete.evaluated.sum()),
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
    """The sum of the marginals that were cut off: v(N, B_k) - v(S_j, B_k), over the tasks with both scores."""
    scores = prefix_scores(record, operator)
    gaps = scores[-1] - scores[record.truncated_at or 0]
    return float(np.nanmean(gaps)) if not np.isnan(gaps).all() else 0.0
