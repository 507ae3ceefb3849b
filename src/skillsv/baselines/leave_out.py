"""Closure-LOO: what is lost when a unit goes, together with everything that needs it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from skillsv.errors import RecordsError
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.rollout import Answers, Request
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Interval, Ranking

_BOUNDS = (-1.0, 1.0)


def closure_loo_requests(compiled: CompiledSkill, tasks: Sequence[str], *, replicate: int = 0) -> tuple[Request, ...]:
    """The rollouts it needs: the whole skill, and the skill without each unit's reverse closure, on every task."""
    wanted = dict.fromkeys([compiled.everything, *(_without(compiled, unit) for unit in compiled.execution)])
    return tuple(_request(coalition, task, replicate) for coalition in wanted for task in tasks)


def _without(compiled: CompiledSkill, unit: str) -> Coalition:
    return compiled.everything - compiled.reverse_closure(frozenset({unit}))


def _request(coalition: Coalition, task: str, replicate: int) -> Request:
    return Request(coalition=coalition, operator=Operator.DELETE, task=task, replicate=replicate, why="baseline:loo")


def closure_loo(
    compiled: CompiledSkill, tasks: Sequence[str], answers: Answers, *, replicate: int = 0, level: float = 0.95
) -> Ranking:
    """V(N) - V(N without the reverse closure) for every unit, paired task by task; a missing score drops its pair."""
    values = {}
    for unit in compiled.execution:
        found = (_drop(compiled, unit, task, answers, replicate) for task in tasks)
        drops = [drop for drop in found if drop is not None]
        if not drops:
            raise RecordsError(
                f"no task was scored both with and without {unit}, so leaving it out says nothing.",
                hint="Run the baseline again.",
            )
        values[unit] = _paired_interval(drops, level)
    return Ranking(method="closure-loo", values=values)


def closure_loo_total(
    compiled: CompiledSkill, tasks: Sequence[str], answers: Answers, *, replicate: int = 0, level: float = 0.95
) -> Interval:
    """The sum of Closure-LOO over all units: what the closure check holds against the lift. Not bounded by 1."""
    sums = []
    for task in tasks:
        drops = [_drop(compiled, unit, task, answers, replicate) for unit in compiled.execution]
        known = [drop for drop in drops if drop is not None]
        if len(known) == len(drops):
            sums.append(math.fsum(known))
    if not sums:
        raise RecordsError("no task was scored without every unit in turn.", hint="Run the baseline again.")
    most = float(len(compiled.execution))
    return _paired_interval(sums, level, bounds=(-most, most))


def _drop(compiled: CompiledSkill, unit: str, task: str, answers: Answers, replicate: int) -> float | None:
    whole = answers[_request(compiled.everything, task, replicate)]
    part = answers[_request(_without(compiled, unit), task, replicate)]
    return None if whole is None or part is None else whole - part


def _paired_interval(drops: Sequence[float], level: float, bounds: tuple[float, float] = _BOUNDS) -> Interval:
    """Student's t over tasks; one task bounds nothing."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    value, count = math.fsum(drops) / len(drops), len(drops)
    if count < 2:
        return Interval(value, *bounds)
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * float(np.std(drops, ddof=1)) / math.sqrt(count)
    return Interval(value, max(value - half, bounds[0]), min(value + half, bounds[1]))
