"""What the values of an adaptive run show about each unit: its sign, or that it is worth less than the resolution.

Many units are judged at once, so some would be judged wrongly by chance. The rules here bound the expected share of
wrong ones among those that count as shown.
"""

from __future__ import annotations

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

LEAST_ROLLOUTS = 500
"""Noisy agent: rollouts below which no unit is called expendable. The shares of units without an effect and of harmful
units are hardly known then, and the draws are too sure of them where a quarter of the units does harm."""


class ShownEvidence:
    """What the intervals of all units show together: of many intervals some exclude a value by chance."""

    def __init__(self, net: ValueDraws, error: Floats, resolution: float, *, noisy: bool, rollouts: int) -> None:
        self._noisy, self._resolution = noisy, resolution
        self._signs = _shown_signs(net.values, error)
        chance = _drawn_above(net, error, resolution) if noisy else _chance_above(net.values, error, resolution)
        rate = NOISY_FALSE_EXPENDABLE if noisy else FALSE_EXPENDABLE
        known = not noisy or rollouts >= LEAST_ROLLOUTS
        self._expendable = _fewest_false(chance, rate) & net.separated & known
        self._idle = ~np.any(net.task_values != 0.0, axis=0)

    def of(self, column: int, interval: Interval, *, tested: bool, identical: bool) -> Evidence:
        """The evidence about one unit, by its interval on the panel."""
        evidence = evidence_of(
            interval,
            resolution=self._resolution,
            tested=tested,
            identical=identical,
            idle=not self._noisy and bool(self._idle[column]),
        )
        if self._noisy and evidence in {Evidence.POSITIVE, Evidence.NEGATIVE} and not self._signs[column]:
            evidence = Evidence.UNRESOLVED
        if evidence is Evidence.NEGLIGIBLE and not self._expendable[column]:
            evidence = Evidence.UNRESOLVED
        if evidence is Evidence.UNRESOLVED and tested and self._expendable[column]:
            return Evidence.EXPENDABLE
        return evidence


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


def _chance_above(values: Floats, error: Floats, resolution: float) -> Floats:
    """The chance that each unit is worth more than the resolution, where errors are rare and large."""
    from scipy.special import stdtr

    return np.asarray(stdtr(TAIL_FREEDOM, (values - resolution) / np.maximum(error, SMALLEST_ERROR)))


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
