"""The adaptive estimate: values of all units from the observations of an adaptive run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.errors import RecordsError
from skillsv.estimate.adaptive.observations import Bools, Numbers, Observed, Scored, anchors_of, read_observations
from skillsv.estimate.adaptive.values import Drawn, noisy_values, steady_values
from skillsv.estimate.chain import DEFAULT, EstimateOptions
from skillsv.estimate.intervals import FINEST, evidence_of, reporting_resolution
from skillsv.estimate.totals import closure_of, units_below
from skillsv.model.coalition import Observation, Order
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Estimate, Evidence, Interval, SectionValue, UnitValue

ORDERS = 1000
"""Orders that make the error of averaging over orders negligible; they cost no rollouts."""


FALSE_SHARE = 0.02
"""Noisy agents: of the verdicts on a sign, at most about this share may be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Valued:
    """Both operators' values, and the weight of each task for what is still open."""

    net: Drawn
    padded: Drawn | None
    observed: Observed

    @property
    def open_tasks(self) -> Mapping[str, float]:
        """By task id, how much more rollouts would help the units whose sign and size are still open."""
        value, error = np.abs(self.net.values), 2.0 * self.net.standard_error
        undecided = (value <= error) & (value + error > FINEST)
        weights = np.sqrt(self.net.doubt[:, undecided].sum(axis=1))
        return dict(zip(self.observed.tasks, weights.tolist(), strict=True))


def estimate_adaptive(
    compiled: CompiledSkill,
    observations: Sequence[Observation],
    orders: Sequence[Order],
    options: EstimateOptions = DEFAULT,
) -> Estimate:
    """Values (phi, Eq. 2) of every execution unit. `orders` are drawn under mu (about 1000; they cost nothing)."""
    return assemble(compiled, value_all(compiled, observations, orders, options), options)


def value_all(
    compiled: CompiledSkill,
    observations: Sequence[Observation],
    orders: Sequence[Order],
    options: EstimateOptions = DEFAULT,
) -> Valued:
    """Values with draws for every operator that was run."""
    observed = read_observations(compiled, observations)
    place = _places(compiled, orders)
    values = noisy_values if observed.noisy else steady_values

    def drawn(scored: Scored) -> Drawn:
        return values(scored, len(observed.tasks), place, np.random.default_rng(options.seed))

    padded = None if observed.padded is None else drawn(observed.padded)
    return Valued(net=drawn(observed.net), padded=padded, observed=observed)


def _places(compiled: CompiledSkill, orders: Sequence[Order]) -> Numbers:
    if not orders:
        raise RecordsError("no orders were given, and values are averages over orders.")
    column = {unit: number for number, unit in enumerate(compiled.execution)}
    listed = np.array([[column[unit] for unit in order[1:]] for order in orders], dtype=np.int64)
    return np.argsort(listed.reshape(len(orders), len(column)), axis=1)


def assemble(compiled: CompiledSkill, valued: Valued, options: EstimateOptions = DEFAULT) -> Estimate:
    """Intervals, evidence, sums and notes around the values."""
    observed, net = valued.observed, valued.net
    answers = len(observed.net.score)
    resolution = reporting_resolution(answers) if options.resolution is None else options.resolution
    anchors, trigger_value, lift = anchors_of(observed, options.level)
    return Estimate(
        method="auto",
        anchors=anchors,
        trigger_value=trigger_value,
        content_lift=lift,
        closure=closure_of(_sum(net, list(range(len(net.values))), options.level), lift, resolution=resolution),
        units=_unit_values(compiled, valued, options, resolution),
        sections=tuple(
            SectionValue(path=section.path, net=_sum(net, below, options.level))
            for section, below in zip(compiled.sections, units_below(compiled), strict=True)
            if below
        ),
        chains=0,
        truncation_share=None,
        resolution=resolution,
        missing=observed.missing,
        notes=tuple(_notes(valued)),
    )


def _sum(drawn: Drawn, columns: list[int], level: float) -> Interval:
    """The sum of some units' values; their draws move together, so bounds do not add."""
    return _interval(float(drawn.values[columns].sum()), float(drawn.draws[:, columns].sum(axis=1).std()), level)


def _unit_values(
    compiled: CompiledSkill, valued: Valued, options: EstimateOptions, resolution: float
) -> tuple[UnitValue, ...]:
    net, padded = valued.net, valued.padded
    cost = None if padded is None else padded.minus(net)
    tested = _samples(valued.observed.net)
    sure = _discoveries(net) if valued.observed.noisy else np.ones(len(tested), dtype=np.bool_)
    rows = []
    for column, unit in enumerate(compiled.execution):
        nothing = unit in options.identical
        interval = Interval(0.0, 0.0, 0.0) if nothing else _at(net, column, options.level)
        price = None if cost is None else _at(cost, column, options.level)
        content = None if padded is None else _at(padded, column, options.level)
        if price is not None and content is not None:
            price = Interval(content.value - interval.value, price.low, price.high)
            content = Interval(interval.value + price.value, content.low, content.high)
        evidence = evidence_of(interval, resolution=resolution, tested=bool(tested[column] > 0), identical=nothing)
        if evidence in {Evidence.POSITIVE, Evidence.NEGATIVE} and not sure[column]:
            evidence = Evidence.UNRESOLVED
        rows.append(
            UnitValue(
                id=unit,
                net=interval,
                content=content,
                cost=price,
                samples=int(tested[column]),
                standard_error=0.0 if nothing else float(net.standard_error[column]),
                evidence=evidence,
            )
        )
    return tuple(rows)


def _at(drawn: Drawn, column: int, level: float) -> Interval:
    return _interval(float(drawn.values[column]), float(drawn.standard_error[column]), level)


def _interval(value: float, error: float, level: float) -> Interval:
    from scipy.special import ndtri  # type: ignore[import-untyped]

    half = float(ndtri(0.5 + level / 2)) * error
    return Interval(value, max(value - half, -1.0), min(value + half, 1.0))


def _discoveries(drawn: Drawn) -> Bools:
    """Units whose sign is sure among all of them (Benjamini and Hochberg's rule at `FALSE_SHARE`).

    Of fifty worthless units two or three have a 95 % interval without zero; a verdict must not rest on that.
    """
    from scipy.special import ndtr

    error = np.maximum(drawn.standard_error, 1e-12)
    chance = 2.0 * np.asarray(ndtr(-np.abs(drawn.values) / error))
    ranked = np.sort(chance)
    below = ranked <= FALSE_SHARE * np.arange(1, len(ranked) + 1) / max(len(ranked), 1)
    limit = ranked[below].max(initial=-1.0)
    sure: Bools = chance <= limit
    return sure


def _samples(scored: Scored) -> Numbers:
    """For each unit how often it was seen in or out between the anchors, whichever is less."""
    inner = scored.present.any(axis=1) & ~scored.present.all(axis=1)
    inside = scored.present[inner].sum(axis=0)
    counts: Numbers = np.minimum(inside, int(inner.sum()) - inside)
    return counts


def _notes(valued: Valued) -> list[str]:
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
    if observed.missing:
        notes.append(f"{observed.missing} rollouts have no score and were left out.")
    return notes
