"""What the tables of a steady run leave out, estimated and given back to the units, with its uncertainty.

A unit that decides a task and was not found there counts as zero on it. That is an error towards zero on many tasks at
once. Two parts of it are estimated by pooling over tasks:

- *Unexplained lift*: both anchors of a task are known, and its deciding units explain less than their difference. The
  rest goes to the units in proportion to what they gain (or harm) on the other tasks.
- *Hidden cancellation*: a gain and a harm on the same task leave the anchors equal. How many tasks still hide one
  follows from the run's failed forecasts (`forecasts.py`), its size from the tasks where it was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.estimate.adaptive.earlier_comparison import EarlierComparison
from skillsv.estimate.adaptive.forecasts import USUAL_SHARE, HiddenChance, Stretch
from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers
from skillsv.estimate.adaptive.patterns import PatternEffects

UNKNOWN_TASKS = 2.0
"""Tasks' worth of gains that all units share alike beside the gains that were found: few findings are not all."""

EQUAL_SHARE = 0.6
"""Share of the tasks with equal anchors that hide a cancellation where all tasks with a deciding unit show a harm."""

UNSEEN_SIZE = 1.0
"""Size of a cancellation, as a share of the score, while none was found."""

ANY_UNIT = 2.0
"""Share of an unseen cancellation that may be any unit's, in shares of the average unit."""

FEWEST_UNITS = 15
"""Units of the smallest games that `ANY_UNIT` was chosen on; fewer units do not raise the share of each further."""

FAILURE_ERROR = 0.5
"""Squared error of a task's values where a unit is hidden, as a share of the squared failure of a forecast."""

UNSEEN_PAIRS = 2.0
"""Tasks that are added to those that a unit decides: a unit that was found on none may decide some."""

USUAL_FAILURE = 0.5
"""Mean squared failure before any forecast failed; it has the weight of one failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledUnits:
    """How the gains and the harms of all tasks are divided among the units; each sums to 1, or to 0 if there is none.

    `found` is the number of tasks that the shares come from, `with_harms` of those with harms.
    """

    gains: Floats
    harms: Floats
    found: int
    with_harms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenParts:
    """What is added to the values of tables, and the errors that stay.

    `unexplained` is the lift that is given to units by their shares [tasks, units]; `cancelled` is added to every
    unit's value. `variance` is the squared error of each task [tasks, units], `shared` the squared error of each unit
    that all tasks have in common.
    """

    unexplained: Floats
    cancelled: Floats
    variance: Floats
    shared: Floats


def pool_units(effects: PatternEffects) -> PooledUnits:
    """The shares of the units in what the tables found."""
    gains, harms = np.maximum(effects.values, 0.0).sum(axis=0), np.maximum(-effects.values, 0.0).sum(axis=0)
    gains = gains + UNKNOWN_TASKS / len(gains)
    return PooledUnits(
        gains=gains / gains.sum(),
        harms=harms / max(float(harms.sum()), 1e-12),
        found=int(effects.deciding.any(axis=1).sum()),
        with_harms=int((effects.values < 0.0).any(axis=1).sum()),
    )


def estimate_hidden(
    effects: PatternEffects,
    lifts: Floats,
    stretches: Sequence[Sequence[Stretch]],
    exhausted: Bools | None = None,
    compared: EarlierComparison | None = None,
) -> HiddenParts:
    """Estimate what the tables left out; `lifts` are the measured differences of the anchors (NaN if missing).

    `exhausted` are the tasks on which every coalition of the orders was scored: they hide nothing. Where the
    scores of an earlier agent hold (`compared`), its search of the task counts, too. Where they do not, other units
    decide: only units that were found there, and that decide the task for no earlier agent, tell about these tasks.
    """
    parts = _estimate_parts(effects, lifts, stretches, exhausted, compared)
    if compared is None or not compared.contradicted.any():
        return parts
    contradicted = compared.contradicted
    rows = contradicted[:, None]
    new = rows & ~compared.shared
    found = replace(effects, values=np.where(new, effects.values, 0.0), deciding=effects.deciding & new)
    nothing_hidden = ~contradicted if exhausted is None else ~contradicted | exhausted
    alone = _estimate_parts(found, np.where(contradicted, lifts, effects.lifts), stretches, nothing_hidden, compared)
    return HiddenParts(
        unexplained=np.where(rows, alone.unexplained, parts.unexplained),
        cancelled=parts.cancelled,
        variance=np.where(rows, alone.variance, parts.variance),
        shared=np.maximum(alone.shared, parts.shared),
    )


def _estimate_parts(
    effects: PatternEffects,
    lifts: Floats,
    stretches: Sequence[Sequence[Stretch]],
    exhausted: Bools | None,
    compared: EarlierComparison | None,
) -> HiddenParts:
    """The parts where the findings on all tasks tell about each of them."""
    pooled = pool_units(effects)
    some = np.asarray(effects.deciding.any(axis=1), dtype=np.bool_)
    chances = _hidden_chances(stretches, some, pooled, None if compared is None else compared.agreeing)
    missing = np.nan_to_num(lifts - effects.lifts)
    open_task = ~some & (missing != 0.0)
    known = open_task if exhausted is None else open_task | exhausted
    chances = np.where(known, 0.0, chances)
    down = pooled.harms if pooled.harms.any() else pooled.gains
    unexplained = np.where(missing[:, None] > 0.0, missing[:, None] * pooled.gains, missing[:, None] * down)
    cancelled, cancelled_variance = _cancellations(effects, lifts, chances, pooled)
    spread = np.where(missing[:, None] > 0.0, pooled.gains * (1 - pooled.gains), down * (1 - down))
    left_open = np.abs(missing).mean() ** 2 * pooled.gains * (1.0 - pooled.gains) / (pooled.found + 1.0)
    return HiddenParts(
        unexplained=unexplained,
        cancelled=cancelled,
        variance=missing[:, None] ** 2 * spread + _task_variance(effects, chances, stretches),
        shared=left_open + cancelled_variance,
    )


def _hidden_chances(
    stretches: Sequence[Sequence[Stretch]], some: Bools, pooled: PooledUnits, agreeing: Numbers | None
) -> Floats:
    """The chance of each task that it hides a deciding unit: learned apart with and without a known deciding unit.

    A task without a known deciding unit whose anchors are equal can only hide a cancellation: where tasks show no
    harms, few are expected. `agreeing` are scores of earlier agents that count as clean probes.
    """
    usual = {True: USUAL_SHARE, False: EQUAL_SHARE * (pooled.with_harms + 1.0) / (pooled.found + 2.0)}
    clean = np.array([mine[-1].clean for mine in stretches], dtype=np.float64)
    if agreeing is not None:
        clean += agreeing
    chances = np.empty(len(stretches))
    for known in (False, True):
        alike = [stretch for mine in stretches for stretch in mine if stretch.some is known]
        learned = HiddenChance(alike, usual[known])
        tasks = some == known
        chances[tasks] = learned.after(clean[tasks])
    return chances


def _cancellations(
    effects: PatternEffects,
    lifts: Floats,
    chances: Floats,
    pooled: PooledUnits,
) -> tuple[Floats, Floats]:
    """What hidden cancellations add to each unit, and its squared error.

    The excess of a task is what its gains exceed its lift by: the harms that they cancel.
    """
    some = np.asarray(effects.deciding.any(axis=1), dtype=np.bool_)
    lift = np.nan_to_num(lifts)
    excess = np.maximum((np.abs(effects.values).sum(axis=1) - np.abs(effects.lifts)) / 2.0, 0.0)
    several = effects.deciding.sum(axis=1) > 1
    total = error = 0.0
    for tasks, found in ((~some, some & (lift == 0.0)), (some, several & (lift != 0.0))):
        hidden = float(chances[tasks].sum()) / len(lift)
        count = float(excess[found].sum())
        size = count / max(int(found.sum()), 1)
        total += hidden * size
        error += (hidden * (size + UNSEEN_SIZE / (1.0 + 2.0 * found.sum()))) ** 2 / (1.0 + count)
    direction = pooled.gains - pooled.harms if pooled.harms.any() else np.zeros(len(pooled.gains))
    any_unit = (ANY_UNIT / max(len(direction), FEWEST_UNITS)) ** 2
    direction_variance = pooled.gains / (pooled.found + 1.0)
    direction_variance += (pooled.harms + 1.0 / len(direction)) / (pooled.with_harms + 1.0)
    return total * direction, error * (
        np.maximum(direction, pooled.gains) ** 2 + any_unit
    ) + total**2 * direction_variance


def _task_variance(effects: PatternEffects, chances: Floats, stretches: Sequence[Sequence[Stretch]]) -> Floats:
    """The squared error of each task's values by hidden units and predicted patterns [tasks, units].

    Half of an error falls on the known deciding units of the task; the other half on all units, most on those that
    decide other tasks.
    """
    failures = [stretch.failure**2 for mine in stretches for stretch in mine if stretch.failure is not None]
    size = (sum(failures) + USUAL_FAILURE) / (len(failures) + 1.0)
    deciding = effects.deciding.astype(np.float64)
    elsewhere = deciding.sum(axis=0) + UNSEEN_PAIRS
    share = deciding / np.maximum(deciding.sum(axis=1), 1.0)[:, None] + elsewhere / elsewhere.sum()
    known = np.maximum(deciding.sum(axis=1), 1.0)
    hidden = 2.0 * FAILURE_ERROR * chances / (1.0 + known)  # the more are known, the less one more can change
    variance: Floats = (size * (hidden + effects.predicted**2))[:, None] * share / 2.0
    return variance
