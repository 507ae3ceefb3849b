"""What an adaptive run is given: units with their needs, tasks, operators, a way to draw orders, and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from skillsv.errors import SettingsError
from skillsv.model.chain import Observation
from skillsv.model.coalition import Operator, Order
from skillsv.rollout.adaptive.stop import Never, Standing, StopRule

Judge = Callable[[Sequence[Observation]], Standing]
"""Says how the values stand after these observations: a pure function, usually the estimator and the verdicts."""

Agent = Literal["unknown", "deterministic", "noisy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveProblem:
    """One skill on one panel. `units` are the execution units; `needs` names what each needs directly.

    `sample_order` draws a feasible order (trigger first) under mu from a generator.
    """

    units: tuple[str, ...]
    trigger: str
    needs: Mapping[str, tuple[str, ...]]
    tasks: tuple[str, ...]
    sample_order: Callable[[np.random.Generator], Order]
    operators: tuple[Operator, ...] = (Operator.DELETE,)

    def __post_init__(self) -> None:
        if not self.tasks or len(set(self.tasks)) != len(self.tasks):
            raise SettingsError("an adaptive run needs at least one task, and each task once.")
        if Operator.DELETE not in self.operators or len(set(self.operators)) != len(self.operators):
            raise SettingsError(
                "an adaptive run needs deletion, and each operator once.", hint="Use --operators delete."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveOptions:
    """How to spend. `visits` tasks are worked on at the same time; the path depends on it, so it is a setting.

    `agent` skips the noise monitor where the answer is known. `judge` is consulted now and then for rules of precision
    and decision, and to send rollouts where verdicts are open; without one, no rollout depends on any estimate.
    """

    stop: StopRule = field(default_factory=Never)
    visits: int = 24
    agent: Agent = "unknown"
    judge: Judge | None = None

    def __post_init__(self) -> None:
        if self.visits < 1:
            raise SettingsError(f"{self.visits} tasks at a time is too few.", hint="24 is usual.")


FINISHED = "nothing was left to ask"
"""Why a run ended that saw all there is to see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveRecord:
    """What an adaptive run leaves: every answer with its reason, whether the agent proved noisy, why it ended."""

    observations: tuple[Observation, ...]
    noisy: bool
    ended: str
    checks: int = 0
    reverts: int = 0
