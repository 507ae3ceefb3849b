"""Observations as arrays: which units were there, on which task, under which operator, and the score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillsv.errors import RecordsError
from skillsv.model.chain import Observation
from skillsv.model.coalition import Operator
from skillsv.model.skill import CompiledSkill

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
