"""The adaptive estimate: values of all units from the observations of an adaptive run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from skillsv.estimate.adaptive.observations import Floats, anchor_scores
from skillsv.estimate.adaptive.operator_values import AdaptiveValues, compute_values
from skillsv.estimate.adaptive.shown_evidence import JudgedUnits, show_evidence
from skillsv.estimate.adaptive.values import ValueDraws, count_samples
from skillsv.estimate.chain import DEFAULT, EstimateOptions
from skillsv.estimate.intervals import NOISY_ANSWERS, reporting_resolution
from skillsv.estimate.panel import AnchorScores, TaskSums, anchors_of, gap_interval
from skillsv.estimate.scopes import sampling_variance
from skillsv.estimate.totals import closure_of, units_below
from skillsv.model.coalition import Observation, Order
from skillsv.model.format import plural
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import UNKNOWN, Anchors, Estimate, Interval, SectionValue, UnitValue

EXACTLY_ZERO = Interval(0.0, 0.0, 0.0)
"""The value of a unit that adds no bytes."""


def estimate_adaptive(
    compiled: CompiledSkill,
    observations: Sequence[Observation],
    orders: Sequence[Order],
    options: EstimateOptions = DEFAULT,
) -> Estimate:
    """Estimate the value phi (Eq. 2) of every execution unit.

    `orders` are drawn under mu; about `ORDERS` of them suffice, and they cost nothing.
    """
    return build_estimate(compiled, compute_values(compiled, observations, orders, options), options)


def build_estimate(compiled: CompiledSkill, valued: AdaptiveValues, options: EstimateOptions = DEFAULT) -> Estimate:
    """Build the estimate from the values: add intervals, evidence, sums and notes."""
    observed, net = valued.observed, valued.net
    answers = len(observed.net.score) // (NOISY_ANSWERS if observed.noisy else 1)
    tasks = len(observed.tasks)
    resolution = reporting_resolution(answers, tasks) if options.resolution is None else options.resolution
    scores = anchor_scores(observed)
    anchors, trigger_value, lift = anchors_of(scores, options.level, noisy=observed.noisy)
    total = _sum(net, list(range(len(net.values))), options.level)
    return Estimate(
        method="auto",
        anchors=anchors,
        trigger_value=trigger_value,
        content_lift=lift,
        closure=closure_of(
            total,
            lift,
            resolution=resolution,
            gap=_gap(total, scores, net, options),
            explained=float(net.task_sums.mean()),
        ),
        units=_unit_values(compiled, valued, options, resolution, _ranges(valued, anchors)),
        sections=tuple(
            SectionValue(path=section.path, net=_section_value(valued, below, options.level))
            for section, below in zip(compiled.sections, units_below(compiled), strict=True)
            if below
        ),
        chains=0,
        truncation_share=None,
        resolution=resolution,
        missing=observed.missing,
        notes=tuple(_notes(valued)),
    )


def _sum(drawn: ValueDraws, columns: list[int], level: float) -> Interval:
    """The sum of some units' values. Its interval comes from the sums of the draws, not from the units' bounds."""
    return _interval(float(drawn.values[columns].sum()), float(drawn.draws[:, columns].sum(axis=1).std()), level)


def _gap(total: Interval, scores: AnchorScores, drawn: ValueDraws, options: EstimateOptions) -> Interval | None:
    """The sum of values minus the lift; None while no task has both scores."""
    if bool(np.isnan(scores.lift).all()):
        return None
    sums = TaskSums(total=drawn.task_sums, weight=np.ones(len(drawn.task_sums)))
    rng = np.random.default_rng(options.seed)
    return gap_interval(total.value, scores, sums, level=options.level, replicates=options.replicates, rng=rng)


def _section_value(valued: AdaptiveValues, columns: list[int], level: float) -> Interval:
    """The sum over a section's units; a section has no value where none of its units has one."""
    if not valued.net.separated[columns].any():
        return UNKNOWN
    return _sum(valued.net, columns, level)


def _ranges(valued: AdaptiveValues, anchors: Anchors) -> tuple[Interval, ...]:
    """For each unit the range that its value must lie in, whatever the scores between the anchors are.

    A marginal lies in [-1, 1]. That of the first unit starts at the score of the trigger alone and that of the last
    unit ends at the score of the full skill, so these two have less room.
    """
    first, last = (valued.place == 0).mean(axis=0), (valued.place == valued.place.shape[1] - 1).mean(axis=0)
    trigger, full = anchors.trigger, anchors.full
    low = first * (1.0 - trigger.high) + last * full.low - 1.0
    high = 1.0 - first * trigger.low - last * (1.0 - full.high)
    return tuple(Interval(math.nan, *ends) for ends in zip(low.tolist(), high.tolist(), strict=True))


def _unit_values(
    compiled: CompiledSkill,
    valued: AdaptiveValues,
    options: EstimateOptions,
    resolution: float,
    ranges: Sequence[Interval],
) -> tuple[UnitValue, ...]:
    """Net effect, content value and context cost of every unit (Sec. 3.2): cost = content - net."""
    net, padded = valued.net, valued.padded
    cost = None if padded is None else padded.minus(net)
    samples = count_samples(valued.observed.net, valued.place)
    on_panel, on_new_tasks = _scope_errors(valued, options)
    observed = valued.observed
    panels, new_tasks = (
        _scope_intervals(net, error, options.level, noisy=valued.observed.noisy) for error in (on_panel, on_new_tasks)
    )
    costs = () if cost is None else _intervals(cost, options.level)
    contents = () if padded is None else _intervals(padded, options.level)
    identical_units = [unit in options.identical for unit in compiled.execution]
    on_panels = [EXACTLY_ZERO if one else panel for one, panel in zip(identical_units, panels, strict=True)]
    judged = JudgedUnits(
        error=on_panel, intervals=on_panels, tested=samples > 0, identical=np.array(identical_units, dtype=np.bool_)
    )
    rollouts = len(observed.net.score)
    evidence = show_evidence(net, judged, resolution, noisy=observed.noisy, rollouts=rollouts)
    rows = []
    for column, unit in enumerate(compiled.execution):
        identical = identical_units[column]
        if not identical and not valued.net.separated[column]:
            rows.append(_without_value(unit, ranges[column], int(samples[column]), padded=padded is not None))
            continue
        net_at = EXACTLY_ZERO if identical else new_tasks[column]
        cost_at = costs[column] if costs else None
        content_at = contents[column] if contents else None
        if cost_at is not None and content_at is not None:
            # Round the cost first; content == net + cost then holds to the last bit.
            cost_at = Interval(content_at.value - net_at.value, cost_at.low, cost_at.high)
            content_at = Interval(net_at.value + cost_at.value, content_at.low, content_at.high)
        rows.append(
            UnitValue(
                id=unit,
                net=net_at,
                net_panel=on_panels[column],
                tasks=len(valued.observed.tasks),
                content=content_at,
                cost=cost_at,
                samples=int(samples[column]),
                standard_error=0.0 if identical else float(on_panel[column]),
                evidence=evidence[column],
            )
        )
    return tuple(rows)


def _without_value(unit: str, net: Interval, samples: int, *, padded: bool) -> UnitValue:
    """A unit that no rollout has separated from the others: only its range is known."""
    other = UNKNOWN if padded else None
    error = (net.high - net.low) / 2
    return UnitValue(id=unit, net=net, content=other, cost=other, samples=samples, standard_error=error)


def _intervals(drawn: ValueDraws, level: float) -> tuple[Interval, ...]:
    """The interval of every unit."""
    pairs = zip(drawn.values.tolist(), drawn.standard_error.tolist(), strict=True)
    return tuple(_interval(value, error, level) for value, error in pairs)


def _scope_intervals(drawn: ValueDraws, error: Floats, level: float, *, noisy: bool) -> list[Interval]:
    """The interval of every unit with these standard errors.

    A noisy agent's unit is dead in most draws and large in a few, or the other way round. A normal interval of the same
    error then ends too early on the side of the few, so each end is the farther one of the normal interval and of the
    middle share of the draws.
    """
    pairs = zip(drawn.values.tolist(), error.tolist(), strict=True)
    normal = [_interval(value, size, level) for value, size in pairs]
    if not noisy:
        return normal
    ends = np.clip(np.quantile(drawn.scaled(error), [0.5 - level / 2, 0.5 + level / 2], axis=0), -1.0, 1.0)
    return [
        Interval(one.value, min(one.low, low), max(one.high, high))
        for one, low, high in zip(normal, *ends.tolist(), strict=True)
    ]


def _interval(value: float, error: float, level: float) -> Interval:
    from scipy.special import ndtri  # type: ignore[import-untyped]

    half = float(ndtri(0.5 + level / 2)) * error
    return Interval(value, max(value - half, -1.0), min(value + half, 1.0))


def _scope_errors(valued: AdaptiveValues, options: EstimateOptions) -> tuple[Floats, Floats]:
    """The standard errors of all units on the panel and on tasks like these.

    Where a noisy agent was asked on some tasks of the panel, the others are tasks like these.
    """
    net, tasks = valued.net, valued.observed.tasks
    strata = [options.strata.get(task, "") for task in tasks] if options.strata else []
    drawn = sampling_variance(net.task_values, strata)
    left_out = max(1.0 - len(tasks) / max(options.panel, len(tasks)), 0.0)
    square = net.standard_error**2
    return np.sqrt(square + left_out * drawn), np.sqrt(square + drawn)


def _notes(valued: AdaptiveValues) -> list[str]:
    """What a reader must know before trusting the numbers."""
    observed = valued.observed
    if observed.noisy:
        basis = (
            "The agent does not repeat itself, so values come from a statistical model fitted to all rollouts; "
            "it assumes that units add up on the logit scale within a task. A sign counts as shown only if it would be "
            "rare among so many units, so an interval without zero may still be unresolved."
        )
    else:
        basis = "The agent repeats itself, so each task's score was traced to the units that decide it."
    notes = [basis]
    if valued.contradicted:
        notes.append(
            f"On {plural(valued.contradicted, 'task')} scores differ from what earlier agents' scores forecast. There "
            "the values are drawn towards those of the earlier agents, as far as both agree over all units."
        )
    if observed.missing:
        notes.append(f"{observed.missing} rollouts have no score and were left out.")
    return notes
