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
        rest = _without(compiled, unit)
        pairs = (
            (answers[_request(compiled.everything, task, replicate)], answers[_request(rest, task, replicate)])
            for task in tasks
        )
        drops = [whole - part for whole, part in pairs if whole is not None and part is not None]
        if not drops:
            raise RecordsError(
                f"no task was scored both with and without {unit}, so leaving it out says nothing.",
                hint="Run the baseline again.",
            )
        values[unit] = _paired_interval(drops, level)
    return Ranking(method="closure-loo", values=values)


def _paired_interval(drops: Sequence[float], level: float) -> Interval:
    """Student's t over tasks; one task bounds nothing."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    value, count = math.fsum(drops) / len(drops), len(drops)
    if count < 2:
        return Interval(value, *_BOUNDS)
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * float(np.std(drops, ddof=1)) / math.sqrt(count)
    return Interval(value, max(value - half, _BOUNDS[0]), min(value + half, _BOUNDS[1]))
