"""What the values of an adaptive run show about each unit: its sign, or that it is worth less than the resolution.

Many units are judged at once, so some would be judged wrongly by chance. The rules here bound the expected share of
wrong ones among those that count as shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats
from skillsv.estimate.adaptive.values import SMALLEST_ERROR, ValueDraws
from skillsv.estimate.intervals import evidence_of
from skillsv.model.value import Evidence, Interval

FALSE_SIGNS = 0.1
"""Noisy agent: expected share of wrong signs among the signs that count as shown (false discovery rate)."""

FALSE_EXPENDABLE = 0.015
"""Expected share of units worth more than the resolution among those that are called expendable, or about zero. An
interval alone would let 2.5 % of them be worth more, and 5 % were where few rollouts a task had been spent."""

TAIL_FREEDOM = 4.0
"""Steady agent: degrees of freedom of Student's distribution that its errors have for these verdicts. A hidden unit is
missed as a whole or not at all, so large errors are more frequent than normal ones (chosen by false verdicts on
`TUNING_SEEDS`)."""

NOISY_FALSE_EXPENDABLE = 0.01
"""The same for a noisy agent, by the draws of its model; chosen by false verdicts on `TUNING_SEEDS`."""

SIGNS = frozenset({Evidence.POSITIVE, Evidence.NEGATIVE})
"""Evidence that an interval on one side of zero gives."""

EXPENDABLE_IF = {Evidence.UNRESOLVED: Evidence.EXPENDABLE, Evidence.NEGLIGIBLE: Evidence.NEGLIGIBLE}
"""Evidence of one interval that leaves open whether the unit is worth less than the resolution, and what it is then."""

LEAST_ROLLOUTS = 500
"""Noisy agent: rollouts below which no unit is called expendable. The shares of units without an effect and of harmful
units are hardly known then, and the draws are too sure of them where a quarter of the units does harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedUnits:
    """All units as the verdicts see them: the errors and intervals of their values on the panel [units].

    `tested`: some rollout had the unit and some had not. `identical`: the unit adds no byte.
    """

    error: Floats
    intervals: Sequence[Interval]
    tested: Bools
    identical: Bools


def show_evidence(
    net: ValueDraws, units: JudgedUnits, resolution: float, *, noisy: bool, rollouts: int
) -> list[Evidence]:
    """The evidence about each unit, by its interval and by what all intervals show together."""
    idle = np.zeros(len(net.values), dtype=np.bool_) if noisy else ~np.any(net.task_values != 0.0, axis=0)
    found = [
        evidence_of(interval, resolution=resolution, tested=bool(tested), identical=bool(identical), idle=bool(none))
        for interval, tested, identical, none in zip(units.intervals, units.tested, units.identical, idle, strict=True)
    ]
    if noisy:
        signs = _shown_signs(net.values, units.error)
        found = [
            Evidence.UNRESOLVED if evidence in SIGNS and not sign else evidence
            for evidence, sign in zip(found, signs.tolist(), strict=True)
        ]
    expendable = _expendable(net, units, found, resolution, noisy=noisy, rollouts=rollouts)
    return [
        (EXPENDABLE_IF[evidence] if worthless else Evidence.UNRESOLVED) if evidence in EXPENDABLE_IF else evidence
        for evidence, worthless in zip(found, expendable.tolist(), strict=True)
    ]


def _expendable(
    net: ValueDraws, units: JudgedUnits, found: Sequence[Evidence], resolution: float, *, noisy: bool, rollouts: int
) -> Bools:
    """The units that count as worth less than the resolution; the share of false ones is bounded among them alone.

    So units with another evidence, which are surely worth less (harmful or without a byte), do not count.
    """
    expendable = np.zeros(len(found), dtype=np.bool_)
    if noisy and rollouts < LEAST_ROLLOUTS:
        return expendable
    open_ones = np.array([evidence in EXPENDABLE_IF for evidence in found], dtype=np.bool_)
    candidates = np.flatnonzero(open_ones & units.tested & net.separated)
    chance_of, rate = (_drawn_above, NOISY_FALSE_EXPENDABLE) if noisy else (_chance_above, FALSE_EXPENDABLE)
    expendable[candidates] = _fewest_false(chance_of(net, units.error, resolution)[candidates], rate)
    return expendable


def _shown_signs(values: Floats, error: Floats) -> Bools:
    """Units whose sign is shown, by Benjamini and Hochberg's rule over all units at the rate `FALSE_SIGNS`.

    Of fifty units without effect two or three have a 95 % interval that excludes zero, by chance alone.
    `scipy.stats.false_discovery_control` does the same, but importing `scipy.stats` takes about three times as long
    as `scipy.special`, and every valuation of a noisy agent would wait for it.
    """
    from scipy.special import ndtr  # type: ignore[import-untyped]

    p_values = 2.0 * np.asarray(ndtr(-np.abs(values) / np.maximum(error, SMALLEST_ERROR)))
    ranked = np.sort(p_values)
    below = ranked <= FALSE_SIGNS * np.arange(1, len(ranked) + 1) / max(len(ranked), 1)
    limit = ranked[below].max(initial=-1.0)
    shown: Bools = p_values <= limit
    return shown


def _chance_above(net: ValueDraws, error: Floats, resolution: float) -> Floats:
    """The chance that each unit is worth more than the resolution, where errors are rare and large."""
    from scipy.special import stdtr

    return np.asarray(stdtr(TAIL_FREEDOM, (net.values - resolution) / np.maximum(error, SMALLEST_ERROR)))


def _drawn_above(net: ValueDraws, error: Floats, resolution: float) -> Floats:
    """The same as the share of draws, widened to this error.

    A noisy agent's unit is dead in most draws and large in a few where it may act only together with others. A normal
    error of the same size says that the few do not occur.
    """
    above: Floats = (net.scaled(error) > resolution).mean(axis=0)
    return above


def _fewest_false(chance: Floats, rate: float) -> Bools:
    """As many units as possible whose mean chance of being worth more than the resolution is at most this rate."""
    order = np.argsort(chance, kind="stable")
    means = np.cumsum(chance[order]) / np.arange(1, len(chance) + 1)
    count = int(np.searchsorted(means, rate, side="right"))
    below = np.zeros(len(chance), dtype=np.bool_)
    below[order[:count]] = True
    return below
