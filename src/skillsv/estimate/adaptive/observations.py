"""Observations as arrays: which units were there, on which task, under which operator, and the score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillsv.errors import RecordsError
from skillsv.model.coalition import Observation, Operator
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Anchors, Interval

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

CLOSED_SET = "closed-set"
"""The reason that only a run with a noisy agent gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Scored coalitions of one operator in the order they were asked: a row each, a column per execution unit."""

    present: Bools
    task: Numbers
    score: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A whole adaptive run. `bare` holds task numbers and scores of the bare agent; `padded` is None if not run."""

    tasks: tuple[str, ...]
    net: Scored
    padded: Scored | None
    bare: tuple[Numbers, Floats]
    noisy: bool
    missing: int


def read_observations(compiled: CompiledSkill, observations: Sequence[Observation]) -> Observed:
    """Sort the observations of a run by operator; complain about what does not belong to this skill."""
    if not any(observation.score is not None for observation in observations):
        raise RecordsError(
            "no rollout has a score, so there is nothing to estimate from.",
            hint="Run the same command again to resume.",
        )
    tasks = tuple(dict.fromkeys(observation.task for observation in observations))
    number = {task: place for place, task in enumerate(tasks)}
    present = [observation for observation in observations if _valid(compiled, observation)]
    bare = [each for each in present if not each.coalition]
    return Observed(
        tasks=tasks,
        net=_scored(compiled, present, Operator.DELETE, number),
        padded=_scored(compiled, present, Operator.PAD, number)
        if any(each.operator is Operator.PAD for each in present)
        else None,
        bare=(_numbers(bare, number), _scores(bare)),
        noisy=any(each.why == CLOSED_SET for each in observations),
        missing=len(observations) - len(present),
    )


def _valid(compiled: CompiledSkill, observation: Observation) -> bool:
    """Whether there is a score to use. A coalition of another skill or a score out of range is an error."""
    if not observation.coalition <= compiled.everything:
        raise RecordsError(
            "an observation names units that this skill does not have.",
            where=f"task {observation.task}",
            hint="The records belong to another skill or to another version of it; start a fresh run.",
        )
    if observation.score is None:
        return False
    if math.isnan(observation.score) or not 0.0 <= observation.score <= 1.0:
        raise RecordsError(
            f"an observation holds the score {observation.score:g}, and a score lies between 0 and 1.",
            where=f"task {observation.task}",
            hint="Check the verifier.",
        )
    return True


def _scored(
    compiled: CompiledSkill, observations: Sequence[Observation], operator: Operator, number: dict[str, int]
) -> Scored:
    """One operator's rows. The full skill was asked once and serves all operators."""
    full = compiled.everything
    rows = [each for each in observations if each.coalition and (each.operator is operator or each.coalition == full)]
    column = {unit: place for place, unit in enumerate(compiled.execution)}
    present = np.zeros((len(rows), len(column)), dtype=np.bool_)
    for place, each in enumerate(rows):
        present[place, [column[unit] for unit in each.coalition if unit in column]] = True
    return Scored(present=present, task=_numbers(rows, number), score=_scores(rows))


def _numbers(rows: Sequence[Observation], number: dict[str, int]) -> Numbers:
    return np.array([number[each.task] for each in rows], dtype=np.int64)


def _scores(rows: Sequence[Observation]) -> Floats:
    return np.array([each.score for each in rows], dtype=np.float64)


# V(empty), V({m}) and V(N) of an adaptive run, with the trigger value and the content lift.

Cells = tuple[Floats, Floats]
"""Per task the mean score, and the number of answers behind it."""


def anchors_of(observed: Observed, level: float) -> tuple[Anchors, Interval, Interval]:
    """The anchors over the whole panel, theta_m and Lambda."""
    tasks, net = len(observed.tasks), observed.net
    least, most = ~net.present.any(axis=1), net.present.all(axis=1)
    empty = _cells(*observed.bare, tasks)
    trigger = _cells(net.task[least], net.score[least], tasks)
    full = _cells(net.task[most], net.score[most], tasks)
    noisy = observed.noisy
    anchors = Anchors(
        empty=_mean([empty], [1.0], level, noisy=noisy, bounds=(0.0, 1.0)),
        trigger=_mean([trigger], [1.0], level, noisy=noisy, bounds=(0.0, 1.0)),
        full=_mean([full], [1.0], level, noisy=noisy, bounds=(0.0, 1.0)),
    )
    trigger_value = _mean([trigger, empty], [1.0, -1.0], level, noisy=noisy, bounds=(-1.0, 1.0))
    return anchors, trigger_value, _mean([full, trigger], [1.0, -1.0], level, noisy=noisy, bounds=(-1.0, 1.0))


def _cells(task: Numbers, score: Floats, tasks: int) -> Cells:
    count = np.bincount(task, minlength=tasks).astype(np.float64)
    total = np.bincount(task, weights=score, minlength=tasks)
    return np.divide(total, count, out=np.full(tasks, np.nan), where=count > 0), count


def _mean(
    parts: list[Cells], signs: list[float], level: float, *, noisy: bool, bounds: tuple[float, float]
) -> Interval:
    """The mean over tasks of a signed sum. Tasks that are missing, and the agent's noise, make the interval wide."""
    from scipy.special import ndtri  # type: ignore[import-untyped]

    value = np.sum([sign * mean for (mean, _), sign in zip(parts, signs, strict=True)], axis=0)
    there = ~np.isnan(value)
    known = int(there.sum())
    if not known:
        return Interval(float(np.clip(0.0, *bounds)), *bounds)
    mean = float(value[there].mean())
    variance = (1.0 - known / len(value)) * float(value[there].var()) / max(known - 1, 1)
    if noisy:
        variance += sum(_noise(mean_of[there], count[there]) for mean_of, count in parts) / known**2
    half = float(ndtri(0.5 + level / 2)) * variance**0.5
    return Interval(mean, float(np.clip(mean - half, *bounds)), float(np.clip(mean + half, *bounds)))


def _noise(mean: Floats, count: Floats) -> float:
    """The variance that chance adds to a sum over tasks: at most that of a coin with the panel's own rate."""
    rate = (float(mean.sum()) + 1.0) / (len(mean) + 2.0)
    return float((rate * (1.0 - rate) / count).sum())
