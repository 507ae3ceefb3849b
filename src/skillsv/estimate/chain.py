"""The chain estimate (the paper's Algorithm 1): values of all units from finished chains, with intervals and notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from skillsv.errors import SettingsError
from skillsv.estimate.intervals import (
    UNSEEN,
    ChainMeans,
    bootstrap_interval,
    evidence_of,
    reporting_resolution,
    truncation_variance,
    widened_interval,
)
from skillsv.estimate.marginals import (
    ChainAnchors,
    Floats,
    Marginals,
    chain_anchors,
    check_records,
    count_missing,
    marginals,
)
from skillsv.estimate.panel import anchors_of, chain_sums, gap_interval, panel_scores
from skillsv.estimate.shared_noise import SharedNoise
from skillsv.estimate.totals import closure_of, section_values, sum_interval
from skillsv.model.coalition import ChainRecord, EarlierScore, Operator, PanelAnchors
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import UNKNOWN, Anchors, Estimate, Evidence, Interval, Ranking, UnitValue


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """Confidence level, bootstrap replicates and seed, and reporting resolution of an estimate.

    `resolution` None derives it from the number of answers (`intervals.reporting_resolution`). `identical` names the
    units whose removal renders the same bytes: their value is zero by construction. `panel` is the number of tasks of
    panel A, 0 for the tasks that were asked; `strata` holds the stratum of each task that has one. `prior` are
    the values of the units for other agents, which the model of a noisy agent compares its own with;
    `earlier_scores` all scores of each other agent, which a steady agent's scores are compared with.
    """

    level: float = 0.95
    replicates: int = 1000
    seed: int = 0
    resolution: float | None = None
    identical: frozenset[str] = frozenset()
    panel: int = 0
    strata: Mapping[str, str] = field(default_factory=dict)
    prior: tuple[Mapping[str, float], ...] = ()
    earlier_scores: tuple[tuple[EarlierScore, ...], ...] = ()

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

NO_PANEL_ANCHORS = (
    "The anchors were not scored on the whole panel, so the lift comes from the tasks of the chains. The values add up "
    "to it in any case: this checks nothing. Run the same command again to score them."
)
"""The note of a run that ended before its anchors were scored on the panel, or that an earlier version made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lift:
    """Anchors, trigger value and content lift. `gap` is None where they come from the chains' windows.

    `explained` is the sum of values computed from the scores, None where scores are missing.
    """

    anchors: Anchors
    trigger_value: Interval
    content_lift: Interval
    gap: Interval | None = None
    explained: float | None = None


def estimate_chains(
    compiled: CompiledSkill,
    records: Sequence[ChainRecord],
    options: EstimateOptions = DEFAULT,
    *,
    panel: PanelAnchors | None = None,
) -> Estimate:
    """Estimate the value phi hat (Eq. 4) of every execution unit: the mean of its paired marginals over chains.

    Anchors and lift are means over the `panel`. Without it they are means over the chains' windows.
    """
    check_records(compiled, records)
    operators = records[0].plan.operators
    net = _OperatorEstimate(compiled, records, Operator.DELETE, options.level)
    padded = _OperatorEstimate(compiled, records, Operator.PAD, options.level) if Operator.PAD in operators else None
    answers = sum(len(record.plan.window.tasks) for record in records)
    resolution = reporting_resolution(answers) if options.resolution is None else options.resolution
    tasks = options.panel or len({task for record in records for task in record.plan.window.tasks})
    on_new_tasks = _on_new_tasks(records, net, options.level, tasks)
    units = _unit_values(compiled, net, padded, options, resolution, on_new_tasks=on_new_tasks)
    units = tuple(replace(unit, tasks=tasks) for unit in units)
    values = np.array([unit.net.value for unit in units], dtype=np.float64)
    change, level = net.marginals.change, options.level
    sum_noise = net.shared_noise.sum_variance(np.ones(len(units), dtype=np.bool_))
    total = sum_interval(change, np.nan_to_num(values), answers=answers, level=level, shared_noise=sum_noise)
    checked = None if panel is None else _panel_lift(records, panel, total.value, options)
    lift = checked or _window_lift(records, answers, level, net.shared_noise.anchor_variance())
    return Estimate(
        method="chain",
        anchors=lift.anchors,
        trigger_value=lift.trigger_value,
        content_lift=lift.content_lift,
        closure=closure_of(total, lift.content_lift, resolution=resolution, gap=lift.gap, explained=lift.explained),
        units=units,
        sections=section_values(compiled, change, values, answers=answers, level=level, shared_noise=net.shared_noise),
        chains=len(records),
        truncation_share=evaluated_share(compiled, records),
        resolution=resolution,
        missing=count_missing(records) + (0 if panel is None else _missing_anchors(panel)),
        notes=(*_notes(compiled, records, net.marginals, units, options), *(() if checked else (NO_PANEL_ANCHORS,))),
    )


class _OperatorEstimate:
    """The estimate under one operator: marginals, noise shared by chains, and means with intervals per unit."""

    def __init__(
        self, compiled: CompiledSkill, records: Sequence[ChainRecord], operator: Operator, level: float
    ) -> None:
        self.marginals = marginals(compiled, records, operator)
        self.shared_noise = SharedNoise(compiled, records, operator)
        self.unit_noise = self.shared_noise.unit_variances()
        self.means = _unit_means(self.marginals, level, self.unit_noise)


def _on_new_tasks(records: Sequence[ChainRecord], net: _OperatorEstimate, level: float, tasks: int) -> ChainMeans:
    """The means with intervals about tasks like those of the panel, `tasks` of which were drawn.

    A chain's mean over a window of b tasks scatters by at least 1/b of the variance between tasks. So the mean over
    the panel scatters by at most b/M of the variance between chains; an effect that appeared in no chain may be there
    on one task in M, as for the panel.
    """
    window = max(len(record.plan.window.tasks) for record in records)
    change = np.nan_to_num(net.marginals.change)
    between = change.var(axis=0, ddof=1) if len(change) > 1 else np.zeros(change.shape[1])
    drawn = window * between / tasks + (UNSEEN / tasks) ** 2
    return _unit_means(net.marginals, level, net.unit_noise + drawn)


def _unit_means(part: Marginals, level: float, unit_noise: Floats) -> ChainMeans:
    """Mean and widened interval per unit; for a unit that no chain tested, no mean (NaN) and the possible range."""
    tested = part.evaluated.any(axis=0)
    change = np.where(tested, part.change, np.nan)
    extra = truncation_variance(part.change, part.evaluated) + unit_noise
    means = widened_interval(change, part.pairs.sum(axis=0), level=level, extra=extra)
    return replace(means, mean=np.where(tested, means.mean, np.nan))


def _unit_values(
    compiled: CompiledSkill,
    net: _OperatorEstimate,
    padded: _OperatorEstimate | None,
    options: EstimateOptions,
    resolution: float,
    *,
    on_new_tasks: ChainMeans,
) -> tuple[UnitValue, ...]:
    """Net effect, content value and context cost of every unit (Sec. 3.2)."""
    change, means = net.marginals.change, net.means
    low, high = bootstrap_interval(
        change, level=options.level, replicates=options.replicates, rng=np.random.default_rng(options.seed)
    )
    cost = None if padded is None else _cost(padded, net, options.level)
    samples = net.marginals.evaluated.sum(axis=0)
    rows = []
    for column, unit in enumerate(compiled.execution):
        identical = unit in options.identical and not np.any(np.nan_to_num(change[:, column]))
        interval = Interval(0.0, 0.0, 0.0) if identical else _at(means, column)
        has_plain = len(change) > 1 and not math.isnan(interval.value)
        content_at, cost_at = _content_and_cost(interval, None if padded is None else padded.means, cost, column)
        rows.append(
            UnitValue(
                id=unit,
                net=interval if identical else _at(on_new_tasks, column),
                net_panel=interval,
                content=content_at,
                cost=cost_at,
                plain=Interval(interval.value, float(low[column]), float(high[column])) if has_plain else None,
                samples=int(samples[column]),
                standard_error=0.0 if identical else float(means.standard_error[column]),
                evidence=evidence_of(
                    interval,
                    resolution=resolution,
                    tested=bool(samples[column] > 0),
                    identical=identical,
                    idle=not np.any(np.nan_to_num(change[:, column])),
                ),
            )
        )
    return tuple(rows)


def _cost(padded: _OperatorEstimate, net: _OperatorEstimate, level: float) -> ChainMeans:
    """The context cost phi_pad - phi_del: a paired difference per chain, because operators share order and tasks."""
    paired = Marginals(
        change=padded.marginals.change - net.marginals.change,
        pairs=np.minimum(padded.marginals.pairs, net.marginals.pairs),
        evaluated=padded.marginals.evaluated & net.marginals.evaluated,
    )
    return _unit_means(paired, level, padded.unit_noise + net.unit_noise)


def _content_and_cost(
    net: Interval, content: ChainMeans | None, cost: ChainMeans | None, column: int
) -> tuple[Interval | None, Interval | None]:
    """Content value and context cost of one unit.

    The cost is rounded first and the content computed from it, so that content == net + cost to the last bit.
    """
    if content is None or cost is None:
        return None, None
    if math.isnan(net.value) or math.isnan(float(content.mean[column])):
        return UNKNOWN, UNKNOWN
    cost_at = _at(cost, column, value=float(content.mean[column]) - net.value)
    return _at(content, column, value=net.value + cost_at.value), cost_at


def _at(means: ChainMeans, column: int, value: float | None = None) -> Interval:
    point = float(means.mean[column]) if value is None else value
    return Interval(point, float(means.low[column]), float(means.high[column]))


def _mean_interval(
    change: Floats, answers: int, level: float, *, extra: float, bounds: tuple[float, float] = (-1.0, 1.0)
) -> Interval:
    """The mean over chains of one number per chain, with its widened interval."""
    return _at(widened_interval(change[:, None], np.array([answers]), level=level, bounds=bounds, extra=extra), 0)


def _panel_lift(
    records: Sequence[ChainRecord], panel: PanelAnchors, total: float, options: EstimateOptions
) -> _Lift | None:
    """Anchors and lift over the whole panel; None where no task has both scores of the lift."""
    scores, sums = panel_scores(panel), chain_sums(records, panel)
    if bool(np.isnan(scores.lift).all()) or not sums.weight.any():
        return None
    noisy = any(record.plan.replicate for record in records)
    anchors, trigger_value, lift = anchors_of(scores, options.level, noisy=noisy)
    rng = np.random.default_rng(options.seed)
    gap = gap_interval(total, scores, sums, level=options.level, replicates=options.replicates, rng=rng)
    explained = None if count_missing(records) else sums.value
    return _Lift(anchors=anchors, trigger_value=trigger_value, content_lift=lift, gap=gap, explained=explained)


def _window_lift(records: Sequence[ChainRecord], answers: int, level: float, anchor_noise: float) -> _Lift:
    """Anchors and lift over the chains' windows."""
    anchors = chain_anchors(records)
    return _Lift(
        anchors=_anchors(anchors, answers, level, anchor_noise),
        trigger_value=_mean_interval(anchors.trigger_gain, answers, level, extra=2 * anchor_noise),
        content_lift=_mean_interval(anchors.content_gain, answers, level, extra=2 * anchor_noise),
    )


def _missing_anchors(panel: PanelAnchors) -> int:
    return sum(scores.count(None) for scores in (panel.empty, panel.trigger, panel.full))


def _anchors(anchors: ChainAnchors, answers: int, level: float, anchor_noise: float) -> Anchors:
    empty, trigger, full = (
        _mean_interval(part, answers, level, extra=anchor_noise, bounds=(0.0, 1.0))
        for part in (anchors.empty, anchors.trigger, anchors.full)
    )
    return Anchors(empty=empty, trigger=trigger, full=full)


def evaluated_share(compiled: CompiledSkill, records: Sequence[ChainRecord]) -> float | None:
    """The share gamma (Sec. 3.3) of intermediate prefixes (neither {m} nor N) that were evaluated before truncation."""
    inner = len(compiled.execution) - 1
    if inner < 1 or not records:
        return None
    evaluated = [inner if record.truncated_at is None else min(record.truncated_at, inner) for record in records]
    return sum(evaluated) / (inner * len(records))


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
            "Every chain was truncated before any unit was tested: no unit has a value. "
            "Run with --tolerance off, or with a larger window."
        )
    elif untested:
        notes.append(
            f"{_listed(untested)} never tested (truncated or missing in every chain): no value, no verdict. "
            "More orders test more units; --tolerance off tests all."
        )
    missing = int(np.isnan(net.change).sum())
    if missing:
        notes.append(f"{missing} of {net.change.size} marginals are missing because no task was scored on both sides.")
    changed = [unit.id for unit in units if unit.id in options.identical and unit.evidence is not Evidence.IDENTICAL]
    if changed:
        notes.append(
            f"{_listed(changed)} said to render the same bytes, but the scores changed: the agent is not repeatable."
        )
    if not compiled.execution:
        notes.append("The skill has no execution units: only the trigger can be valued.")
    return notes


def _listed(units: list[str]) -> str:
    names = ", ".join(units[:5]) + (f" and {len(units) - 5} more" if len(units) > 5 else "")
    return f"{names} {'was' if len(units) == 1 else 'were'}"


def ranking_of(estimate: Estimate) -> Ranking:
    """The estimate as a ranking by net effect, for comparison with the baselines."""
    values = {unit.id: unit.net_or_zero for unit in estimate.units}
    return Ranking(method=f"skillsv-{estimate.method}", values=values, notes=estimate.notes)
