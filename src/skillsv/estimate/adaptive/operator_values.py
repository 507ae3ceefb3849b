"""The values of all units under each operator that an adaptive run had, from its observations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.errors import RecordsError
from skillsv.estimate.adaptive.earlier_comparison import EarlierComparison, compare_with_earlier, find_open
from skillsv.estimate.adaptive.earlier_values import learn_pull
from skillsv.estimate.adaptive.observations import (
    Bools,
    Floats,
    Numbers,
    RunObservations,
    ScoredCoalitions,
    read_earlier_scores,
    read_observations,
)
from skillsv.estimate.adaptive.steady_values import steady_values
from skillsv.estimate.adaptive.values import ValueDraws, join_tasks, noisy_values
from skillsv.estimate.chain import DEFAULT, EstimateOptions
from skillsv.estimate.intervals import FINEST
from skillsv.model.coalition import Observation, Order
from skillsv.model.skill import CompiledSkill

AVERAGED_ORDERS = 1000
"""Orders to average over: the error of the average is then negligible, and orders cost no rollouts."""

MANY_UNITS = 100
"""Units above which fewer orders are drawn, because drawing takes time in proportion to units."""

LEAST_ORDERS = 200
"""Orders averaged at least; their error is part of the interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveValues:
    """The values of both operators with their draws. `padded` is None where only deletion was run.

    `place` holds the position of each unit in each order [orders, units]. `contradicted` is the number of tasks on
    which the scores differ from what all earlier agents' scores forecast, 0 where no value follows theirs.
    """

    net: ValueDraws
    padded: ValueDraws | None
    observed: RunObservations
    place: Numbers
    contradicted: int = 0

    @property
    def open_tasks(self) -> Mapping[str, float]:
        """By task id, how much more rollouts on the task would help the units whose sign and size are undecided."""
        value, error = np.abs(self.net.values), 2.0 * self.net.standard_error
        undecided = (value <= error) & (value + error > FINEST)
        weights = np.sqrt(self.net.task_variance[:, undecided].sum(axis=1))
        return dict(zip(self.observed.tasks, weights.tolist(), strict=True))


def count_averaged_orders(units: int) -> int:
    """The number of orders to average over for a skill with so many execution units."""
    return max(LEAST_ORDERS, AVERAGED_ORDERS * MANY_UNITS // max(units, MANY_UNITS))


def compute_values(
    compiled: CompiledSkill,
    observations: Sequence[Observation],
    orders: Sequence[Order],
    options: EstimateOptions = DEFAULT,
) -> AdaptiveValues:
    """Compute the values and their draws for every operator that was run."""
    observed = read_observations(compiled, observations)
    place = _places(compiled, orders)
    earlier = [read_earlier_scores(compiled, agent, observed.tasks) for agent in options.earlier_scores]
    compared = compare_with_earlier(observed.net, earlier, len(observed.tasks))
    operators = [observed.net] if observed.padded is None else [observed.net, observed.padded]
    drawn = [(scored, np.random.default_rng(options.seed)) for scored in operators]
    noisy = observed.noisy_tasks
    followed = 0
    if noisy.all():
        net, *padded = _noisy_draws(drawn, noisy, place, _prior_values(compiled, options))
    else:
        (net, *padded), followed = _steady_draws(drawn, ~noisy, place, earlier, compared)
        if noisy.any():
            others = _noisy_draws(drawn, noisy, place, _prior_values(compiled, options))
            net, *padded = (join_tasks(*both, noisy) for both in zip([net, *padded], others, strict=True))
    return AdaptiveValues(
        net=net,
        padded=padded[0] if padded else None,
        observed=observed,
        place=place,
        contradicted=followed,
    )


def _steady_draws(
    operators: Sequence[tuple[ScoredCoalitions, np.random.Generator]],
    tasks: Bools,
    place: Numbers,
    earlier: Sequence[ScoredCoalitions],
    compared: EarlierComparison | None,
) -> tuple[list[ValueDraws], int]:
    """The values on the steady tasks, for each operator, and the number of tasks where they follow earlier agents'."""
    count, there = int(tasks.sum()), None if compared is None else compared.on_tasks(tasks)
    drawn = [steady_values(scored.on_tasks(tasks), count, place, rng, there) for scored, rng in operators]
    if there is None or not there.contradicted.any():
        return drawn, 0
    open_tasks = find_open(operators[0][0].on_tasks(tasks), count)
    pull = learn_pull(drawn[0], there.contradicted, open_tasks, [agent.on_tasks(tasks) for agent in earlier], place)
    return (drawn, 0) if pull is None else ([pull.apply(one) for one in drawn], int(there.contradicted.sum()))


def _noisy_draws(
    operators: Sequence[tuple[ScoredCoalitions, np.random.Generator]],
    tasks: Bools,
    place: Numbers,
    prior: Floats | None,
) -> list[ValueDraws]:
    """The values on the noisy tasks, for each operator."""
    return [noisy_values(scored.on_tasks(tasks), int(tasks.sum()), place, rng, prior) for scored, rng in operators]


def _prior_values(compiled: CompiledSkill, options: EstimateOptions) -> Floats | None:
    """The values of the units for other agents, a row for each; None where there are none."""
    rows = [[values.get(unit, 0.0) for unit in compiled.execution] for values in options.prior]
    return np.array(rows) if rows and compiled.execution else None


def _places(compiled: CompiledSkill, orders: Sequence[Order]) -> Numbers:
    """The position of each execution unit in each order [orders, units]."""
    if not orders:
        raise RecordsError("no orders were given, and values are averages over orders.")
    column = {unit: number for number, unit in enumerate(compiled.execution)}
    columns = np.array([[column[unit] for unit in order[1:]] for order in orders], dtype=np.int64)
    return np.argsort(columns.reshape(len(orders), len(column)), axis=1)
