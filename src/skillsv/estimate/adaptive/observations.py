"""The observations of an adaptive run as arrays, and the scores of the anchors among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillsv.errors import RecordsError
from skillsv.estimate.panel import AnchorScores, TaskMeans
from skillsv.model.coalition import AdaptiveReason, Coalition, EarlierScore, Observation, Operator
from skillsv.model.skill import CompiledSkill

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

PROBES = frozenset({AdaptiveReason.PATTERN, AdaptiveReason.VERIFY, AdaptiveReason.SAMPLE})
"""Reasons of rollouts whose score was not known to be surprising when they were asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredCoalitions:
    """The scored coalitions of one operator, in the order in which they were asked.

    Each row of `present` is a coalition, with a column per execution unit; `task` holds task numbers. `probe` marks the
    rows that were asked to compare their score with a forecast, or to score a pattern; None: no row was.
    """

    present: Bools
    task: Numbers
    score: Floats
    probe: Bools | None = None

    def on_tasks(self, chosen: Bools) -> ScoredCoalitions:
        """The rows of the chosen tasks, which are numbered anew."""
        rows, number = chosen[self.task], np.cumsum(chosen) - 1
        return ScoredCoalitions(
            present=self.present[rows],
            task=number[self.task[rows]],
            score=self.score[rows],
            probe=None if self.probe is None else self.probe[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunObservations:
    """All observations of an adaptive run. `padded` is None if the operator `pad` was not run.

    `bare` holds task numbers and scores of the bare agent. `noisy` says whether the policy found the agent noisy, and
    `noisy_tasks` on which tasks: on all of them, or on single ones. `missing` counts rollouts without a score.
    """

    tasks: tuple[str, ...]
    net: ScoredCoalitions
    padded: ScoredCoalitions | None
    bare: tuple[Numbers, Floats]
    noisy: bool
    noisy_tasks: Bools
    missing: int


def read_observations(
    compiled: CompiledSkill, observations: Sequence[Observation], *, with_padded: bool = True
) -> RunObservations:
    """Sort the observations of a run by operator; raise `RecordsError` for those that do not belong to this skill.

    `with_padded=False` leaves out what the operator `pad` scored.
    """
    if not any(observation.score is not None for observation in observations):
        raise RecordsError(
            "no rollout has a score, so there is nothing to estimate from.",
            hint="Run the same command again to resume.",
        )
    tasks = tuple(dict.fromkeys(observation.task for observation in observations))
    number = {task: place for place, task in enumerate(tasks)}
    scored = [observation for observation in observations if _has_score(compiled, observation)]
    bare = [observation for observation in scored if not observation.coalition]
    noisy = any(observation.agent_is_noisy for observation in observations)
    alone = {observation.task for observation in observations if observation.why == AdaptiveReason.NOISY_TASK}
    padding = with_padded and any(observation.operator is Operator.PAD for observation in scored)
    return RunObservations(
        tasks=tasks,
        net=_scored(compiled, scored, Operator.DELETE, number),
        padded=_scored(compiled, scored, Operator.PAD, number) if padding else None,
        bare=(_task_numbers(bare, number), _scores(bare)),
        noisy=noisy,
        noisy_tasks=np.array([noisy or task in alone for task in tasks], dtype=np.bool_),
        missing=len(observations) - len(scored),
    )


def _has_score(compiled: CompiledSkill, observation: Observation) -> bool:
    """Whether the observation has a score. A coalition of another skill or a score out of range is an error."""
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
) -> ScoredCoalitions:
    """The rows of one operator. The full skill was asked once and belongs to all operators."""
    full = compiled.everything
    rows = [
        observation
        for observation in observations
        if observation.coalition and (observation.operator is operator or observation.coalition == full)
    ]
    present = _presence(compiled, [observation.coalition for observation in rows])
    probe = np.array([observation.why in PROBES for observation in rows], dtype=np.bool_)
    return ScoredCoalitions(present=present, task=_task_numbers(rows, number), score=_scores(rows), probe=probe)


def read_earlier_scores(
    compiled: CompiledSkill, agent: Sequence[EarlierScore], tasks: Sequence[str]
) -> ScoredCoalitions:
    """The scores of an earlier agent on these tasks, without coalitions with units that this skill does not have."""
    number = {task: place for place, task in enumerate(tasks)}
    rows = [item for item in agent if item.task in number and item.coalition <= compiled.everything]
    present = _presence(compiled, [item.coalition for item in rows])
    return ScoredCoalitions(present=present, task=_task_numbers(rows, number), score=_scores(rows))


def _presence(compiled: CompiledSkill, coalitions: Sequence[Coalition]) -> Bools:
    """A row for each coalition, with a column per execution unit."""
    units = compiled.execution
    column = dict.fromkeys(compiled.everything, len(units)) | {unit: place for place, unit in enumerate(units)}
    flags = np.zeros((len(coalitions), len(units) + 1), dtype=np.bool_)  # the last column is for the trigger
    for row, coalition in enumerate(coalitions):
        flags[row, np.fromiter(map(column.__getitem__, coalition), dtype=np.int64, count=len(coalition))] = True
    return np.ascontiguousarray(flags[:, :-1])


def _task_numbers(observations: Sequence[Observation | EarlierScore], number: dict[str, int]) -> Numbers:
    return np.array([number[observation.task] for observation in observations], dtype=np.int64)


def _scores(observations: Sequence[Observation | EarlierScore]) -> Floats:
    return np.array([observation.score for observation in observations], dtype=np.float64)


def anchor_scores(observed: RunObservations) -> AnchorScores:
    """The scores of the bare agent, of {m} and of the full skill on every task, under deletion."""
    tasks, net = len(observed.tasks), observed.net
    only_trigger, all_units = ~net.present.any(axis=1), net.present.all(axis=1)
    return AnchorScores(
        empty=_task_means(*observed.bare, tasks),
        trigger=_task_means(net.task[only_trigger], net.score[only_trigger], tasks),
        full=_task_means(net.task[all_units], net.score[all_units], tasks),
    )


def _task_means(task: Numbers, score: Floats, tasks: int) -> TaskMeans:
    count = np.bincount(task, minlength=tasks).astype(np.float64)
    total = np.bincount(task, weights=score, minlength=tasks)
    return np.divide(total, count, out=np.full(tasks, np.nan), where=count > 0), count
