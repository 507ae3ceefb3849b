"""Input and result of an adaptive run: the problem, the options, and the record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

import numpy as np

from skillsv.errors import SettingsError
from skillsv.model.coalition import AdaptiveReason, EarlierScore, KnownCoalition, Observation, Operator, Order
from skillsv.rollout.noise_check import Noise
from skillsv.rollout.stop_rules import EstimateStatus, Never, StopRule

StatusFunction = Callable[[Sequence[Observation]], EstimateStatus]
"""Returns the state of the estimate after these observations; a pure function, usually estimator and verdicts."""

Agent = Literal["unknown", "deterministic", "noisy"]

FINISHED = "nothing was left to ask"
"""Why a run ended that has measured all it can."""


LEAST_ROUND = 24
"""Rollouts of a round at least; for runs that recorded no searches, task searches at the same time at least, too."""

LEAST_JOBS = 8
"""Searches are counted for so many jobs at least, so that fewer jobs choose the same rollouts."""

SEARCHED_SHARE = 2 / 3
"""Share of the tasks that are searched at the same time at most: with more, tasks are hardly chosen any more."""

FREE_SHARE = 0.4
"""Share of the tasks that are searched at the same time without a loss.

With more, small budgets end while many searches have no result yet: fewer units are decided.
"""

ROLLOUTS_A_TASK = 12
"""A budget with fewer rollouts for each task and operator is small: three anchors, and about one search."""


def choose_round_size(jobs: int) -> int:
    """The rollouts of a round for so many jobs: the run records it, and keeps it with whatever jobs it resumes."""
    return max(LEAST_ROUND, 2 * jobs)


def choose_live_searches(jobs: int, tasks: int, rollouts: int) -> int | None:
    """The task searches at the same time, which the run records, too; None for a small budget of rollouts per operator.

    Two for each job keep all slots busy. Where that is more than a share of the tasks, one for each job. A small budget
    waits for each round: rolling searches missed a gain there that a harm on the same tasks hides.
    """
    if rollouts < ROLLOUTS_A_TASK * tasks:
        return None
    jobs = max(LEAST_JOBS, jobs)
    return max(1, min(2 * jobs, int(FREE_SHARE * tasks)), min(jobs, int(SEARCHED_SHARE * tasks)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveProblem:
    """One skill on one panel. `units` are the execution units; `needs` names the units that each needs directly.

    `sample_order` draws a feasible order pi (trigger first) from mu with the given generator. `strata` holds the
    stratum of each task that has one.
    """

    units: tuple[str, ...]
    trigger: str
    needs: Mapping[str, tuple[str, ...]]
    tasks: tuple[str, ...]
    sample_order: Callable[[np.random.Generator], Order]
    operators: tuple[Operator, ...] = (Operator.DELETE,)
    strata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.tasks or len(set(self.tasks)) != len(self.tasks):
            raise SettingsError("an adaptive run needs at least one task, and each task once.")
        if Operator.DELETE not in self.operators or len(set(self.operators)) != len(self.operators):
            raise SettingsError(
                "an adaptive run needs deletion, and each operator once.", hint="Use --operators delete."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveOptions:
    """How the run spends its rollouts.

    `tasks_per_round` tasks are asked at the same time. The order of rollouts depends on it, so it is a setting and not
    the number of workers. `round_size` (see `choose_round_size`) asks for more at the same time, so that slots are not
    idle at the end of a round; None, as in runs that recorded none, waits for each round. `live_searches` (see
    `choose_live_searches`) tasks of a steady agent are searched at the same time; without it, as in runs that recorded
    only a round size, one for each two of the round, and small rounds are waited for. `agent` skips the noise monitor
    where the kind of agent is known. `estimate_status` returns the state of the estimate; stop rules on precision and
    on verdicts need it, and half of the free rollouts then go to tasks whose units are undecided. Without it no rollout
    depends on an estimate. `known` coalitions are asked for first: an earlier run has paid for them. `prior` coalitions
    are asked for next, unless the agent is noisy: another agent's scores changed there, or those of an earlier version
    of the skill. After them come coalitions that `earlier_scores` suggest, all scores of each other agent.
    `null_anchors`: the full skill is also scored under a null change where the kind of agent is unknown.
    """

    stop: StopRule = field(default_factory=Never)
    tasks_per_round: int = 24
    round_size: int | None = None
    live_searches: int | None = None
    agent: Agent = "unknown"
    estimate_status: StatusFunction | None = None
    known: tuple[KnownCoalition, ...] = ()
    prior: tuple[KnownCoalition, ...] = ()
    earlier_scores: tuple[tuple[EarlierScore, ...], ...] = ()
    null_anchors: bool = True

    def __post_init__(self) -> None:
        if self.tasks_per_round < 1:
            raise SettingsError(f"{self.tasks_per_round} tasks per round is too few.", hint="24 is usual.")
        if self.round_size is not None and self.round_size < 1:
            raise SettingsError(f"a round of {self.round_size} rollouts asks for nothing.", hint="24 is usual.")

    def count_searches(self, tasks: int) -> int | None:
        """Task searches that roll at the same time; None: wait for each round."""
        if self.round_size is None or self.live_searches is not None:
            return self.live_searches
        if self.round_size <= LEAST_ROUND:
            return None
        return max(1, min(max(LEAST_ROUND, self.round_size // 2), int(SEARCHED_SHARE * tasks)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveRecord:
    """The result of an adaptive run. `ended` says why it stopped.

    `noisy` says whether the agent was treated as noisy. `noise` are the repeated rollouts; `reverts` of
    `neighbours` scores next to a located change went back. `panel` is the number of tasks of the problem.
    """

    observations: tuple[Observation, ...]
    noisy: bool
    ended: str
    noise: Noise = field(default_factory=Noise)
    neighbours: int = 0
    reverts: int = 0
    panel: int = 0

    def noise_sentence(self) -> str:
        """What was checked, and what kind of agent it shows."""
        finding = self.noise.finding()
        steady = takewhile(lambda item: not item.agent_is_noisy, self.observations)
        changed = sum(item.null_change > 0 for item in steady)
        if changed:
            finding += f" {changed} of them had a change that means nothing: a blank line, a comment or filler."
        if self.noisy:
            return f"{finding} The agent is noisy: values come from a model of its scores.{self._tasks_sentence()}"
        alone = {item.task for item in self.observations if item.why == AdaptiveReason.NOISY_TASK}
        if alone:
            return f"{finding} The agent is noisy on {', '.join(sorted(alone))} alone and taken to be steady elsewhere."
        if not self.noise.deterministic:
            finding = f"{finding} That is taken for an accident."
        return f"{finding} The agent is taken to be deterministic."

    def _tasks_sentence(self) -> str:
        """On how many tasks of the panel a noisy agent was asked, if not on all."""
        asked = len({item.task for item in self.observations})
        if asked >= self.panel:
            return ""
        return (
            f" It was asked on {asked} of {self.panel} tasks, because few rollouts say more on few tasks; with more "
            "rollouts the same run goes on and further tasks join."
        )
