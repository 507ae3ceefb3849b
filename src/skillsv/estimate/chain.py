"""Algorithm 1's estimate: values of all units from finished chains, with everything needed to judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.errors import SettingsError
from skillsv.estimate.intervals import (
    Spread,
    bootstrap_interval,
    evidence_of,
    honest_interval,
    reporting_resolution,
    truncation_variance,
)
from skillsv.estimate.marginals import Anchored, Floats, Marginals, anchored, check_records, count_missing, marginals
from skillsv.estimate.shared_noise import SharedNoise
from skillsv.estimate.totals import closure_of, section_values, sum_interval
from skillsv.model.coalition import ChainRecord, Operator
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Anchors, Estimate, Evidence, Interval, Ranking, UnitValue


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """How to judge: confidence level, bootstrap replicates and seed, reporting resolution.

    `resolution` None derives it from the number of answers (see `evidence.reporting_resolution`). `identical` names the
    units whose removal renders the same bytes: they are zero by construction.
    """

    level: float = 0.95
    replicates: int = 1000
    seed: int = 0
    resolution: float | None = None
    identical: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise SettingsError(f"the confidence level {self.level:g} is not between 0 and 1.", hint="0.95 is usual.")
        if self.replicates < 1:
            raise SettingsError("the bootstrap needs at least one replicate.", hint="1000 is usual.")
        if self.resolution is not None and not 0.0 < self.resolution < 1.0:
            raise SettingsError(
                f"the resolution {self.resolution:g} is not between 0 and 1.", hint="0.01 is one point."
            )


DEFAULT = EstimateOptions()


def estimate_chains(
    compiled: CompiledSkill, records: Sequence[ChainRecord], options: EstimateOptions = DEFAULT
) -> Estimate:
    """The value (phi hat, eq. 4) of every execution unit: the mean of its paired marginals over chains."""
    check_records(compiled, records)
    operators = records[0].plan.operators
    net = _Side(compiled, records, Operator.DELETE, options.level)
    padded = _Side(compiled, records, Operator.PAD, options.level) if Operator.PAD in operators else None
    anchors = anchored(records)
    answers = sum(len(record.plan.window.tasks) for record in records)
    resolution = reporting_resolution(answers) if options.resolution is None else options.resolution
    units = _unit_values(compiled, net, padded, options, resolution)
    values = np.array([unit.net.value for unit in units], dtype=np.float64)
    change, level, shared = net.marginals.change, options.level, net.luck.of_anchors()
    everything = net.luck.variance(np.ones(len(units), dtype=np.bool_))
    total = sum_interval(change, values, answers=answers, level=level, luck=everything)
    lift = _single(anchors.content_gain, answers, level, luck=2 * shared)
    return Estimate(
        method="chain",
        anchors=_anchors(anchors, answers, level, shared),
        trigger_value=_single(anchors.trigger_gain, answers, level, luck=2 * shared),
        content_lift=lift,
        closure=closure_of(total, lift, resolution=resolution),
        units=units,
        sections=section_values(compiled, change, values, answers=answers, level=level, luck=net.luck),
        chains=len(records),
        truncation_share=_surviving_share(compiled, records),
        resolution=resolution,
        missing=count_missing(records),
        notes=tuple(_notes(compiled, records, net.marginals, units, options)),
    )


class _Side:
    """One operator's view of the records: its marginals, the luck its chains share, its intervals per unit."""

    def __init__(
        self, compiled: CompiledSkill, records: Sequence[ChainRecord], operator: Operator, level: float
    ) -> None:
        self.marginals = marginals(compiled, records, operator)
        self.luck = SharedNoise(compiled, records, operator)
        self.shared = self.luck.per_unit()
        self.spread = tested_interval(self.marginals, level, self.shared)


def tested_interval(part: Marginals, level: float, luck: Floats | float) -> Spread:
    """The honest interval per unit; the logical range for a unit that truncation kept from ever being tested."""
    change = np.where(part.evaluated.any(axis=0), part.change, np.nan)
    extra = truncation_variance(part.change, part.evaluated) + luck
    return honest_interval(change, part.pairs.sum(axis=0), level=level, extra=extra)


def _unit_values(
    compiled: CompiledSkill, net: _Side, padded: _Side | None, options: EstimateOptions, resolution: float
) -> tuple[UnitValue, ...]:
    change, spread = net.marginals.change, net.spread
    low, high = bootstrap_interval(
        change, level=options.level, replicates=options.replicates, rng=np.random.default_rng(options.seed)
    )
    cost = None if padded is None else _cost(padded, net, options.level)
    tested = net.marginals.evaluated.sum(axis=0)
    rows = []
    for column, unit in enumerate(compiled.execution):
        nothing = unit in options.identical and not np.any(np.nan_to_num(change[:, column]))
        interval = Interval(0.0, 0.0, 0.0) if nothing else _at(spread, column)
        content_at, cost_at = _decomposed(interval, None if padded is None else padded.spread, cost, column)
        rows.append(
            UnitValue(
                id=unit,
                net=interval,
                content=content_at,
                cost=cost_at,
                plain=Interval(interval.value, float(low[column]), float(high[column])) if len(change) > 1 else None,
                samples=int(tested[column]),
                standard_error=0.0 if nothing else float(spread.standard_error[column]),
                evidence=evidence_of(
                    interval, resolution=resolution, tested=bool(tested[column] > 0), identical=nothing
                ),
            )
        )
    return tuple(rows)


def _cost(padded: _Side, net: _Side, level: float) -> Spread:
    """The context cost per chain: a paired difference, because both operators share order and tasks."""
    paired = Marginals(
        change=padded.marginals.change - net.marginals.change,
        pairs=np.minimum(padded.marginals.pairs, net.marginals.pairs),
        evaluated=padded.marginals.evaluated & net.marginals.evaluated,
    )
    return tested_interval(paired, level, padded.shared + net.shared)


def _decomposed(
    net: Interval, content: Spread | None, cost: Spread | None, column: int
) -> tuple[Interval | None, Interval | None]:
    """Content and cost with content == net + cost to the last bit: cost is rounded first, content follows from it."""
    if content is None or cost is None:
        return None, None
    price = _at(cost, column, value=float(content.mean[column]) - net.value)
    return _at(content, column, value=net.value + price.value), price


def _at(spread: Spread, column: int, value: float | None = None) -> Interval:
    point = float(spread.mean[column]) if value is None else value
    return Interval(point, float(spread.low[column]), float(spread.high[column]))


def _single(
    change: Floats, answers: int, level: float, *, luck: float, bounds: tuple[float, float] = (-1.0, 1.0)
) -> Interval:
    spread = honest_interval(change[:, None], np.array([answers]), level=level, bounds=bounds, extra=luck)
    return _at(spread, 0)


def _anchors(anchors: Anchored, answers: int, level: float, luck: float) -> Anchors:
    empty, trigger, full = (
        _single(part, answers, level, luck=luck, bounds=(0.0, 1.0))
        for part in (anchors.empty, anchors.trigger, anchors.full)
    )
    return Anchors(empty=empty, trigger=trigger, full=full)


def _surviving_share(compiled: CompiledSkill, records: Sequence[ChainRecord]) -> float | None:
    """gamma: the share of intermediate prefixes (neither {m} nor N) that survived the truncation gate."""
    inner = len(compiled.execution) - 1
    if inner < 1:
        return None
    lived = [inner if record.truncated_at is None else min(record.truncated_at, inner) for record in records]
    return sum(lived) / (inner * len(records))


def _notes(
    compiled: CompiledSkill,
    records: Sequence[ChainRecord],
    net: Marginals,
    units: tuple[UnitValue, ...],
    options: EstimateOptions,
) -> list[str]:
    """What a reader must know before trusting the numbers."""
    notes = []
    if len(records) == 1:
        notes.append(
            "One chain says nothing about precision: every interval is the logical range (-1 to 1, anchors 0 to 1) "
            "and every standard error its half; no verdict rests on them."
        )
    untested = [unit.id for unit in units if unit.samples == 0]
    if units and len(untested) == len(units):
        notes.append(
            "Every chain was truncated before any unit was tested: the values are zero by truncation alone. "
            "Run with --tolerance off, or with a larger window."
        )
    elif untested:
        notes.append(f"{_listed(untested)} never tested (truncated or missing in every chain): no verdict.")
    silent = int(np.isnan(net.change).sum())
    if silent:
        notes.append(f"{silent} of {net.change.size} marginals are missing because no task was scored on both sides.")
    moved = [unit.id for unit in units if unit.id in options.identical and unit.evidence is not Evidence.IDENTICAL]
    if moved:
        notes.append(
            f"{_listed(moved)} said to render the same bytes, but the scores changed: the agent is not repeatable."
        )
    if not compiled.execution:
        notes.append("The skill has no execution units: only the trigger can be valued.")
    return notes


def _listed(units: list[str]) -> str:
    shown = ", ".join(units[:5]) + (f" and {len(units) - 5} more" if len(units) > 5 else "")
    return f"{shown} {'was' if len(units) == 1 else 'were'}"


# The estimate as a ranking, to stand beside the baselines.


def ranking_of(estimate: Estimate) -> Ranking:
    """Net effects of all execution units, under the estimate's method name."""
    values = {unit.id: unit.net for unit in estimate.units}
    return Ranking(method=f"skillsv-{estimate.method}", values=values, notes=estimate.notes)
