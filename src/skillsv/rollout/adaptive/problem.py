"""What an adaptive run is given: units with their needs, tasks, operators, a way to draw orders, and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from skillsv.errors import SettingsError
from skillsv.model.coalition import Observation, Operator, Order
from skillsv.rollout.adaptive.stop import EstimateStatus, Never, StopRule
from skillsv.rollout.adaptive.task_table import Mask

Judge = Callable[[Sequence[Observation]], EstimateStatus]
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


# Random dependency-closed coalitions: the design for an agent whose answers are chance.


def needed_masks(units: Sequence[str], needs: Mapping[str, tuple[str, ...]]) -> list[Mask]:
    """For each unit the bits of itself and all it needs, directly or not."""
    number = {unit: place for place, unit in enumerate(units)}
    closed: dict[str, Mask] = {}
    for unit in units:
        todo, seen = [unit], {unit}
        while todo:
            for other in needs.get(todo.pop(), ()):
                if other in number and other not in seen:
                    seen.add(other)
                    todo.append(other)
        closed[unit] = sum(1 << number[other] for other in seen)
    return [closed[unit] for unit in units]


def draw_closed(needed: Sequence[Mask], rng: np.random.Generator) -> Mask:
    """Each unit by a fair coin; then, by another, take in what the chosen need, or drop those that lack something."""
    coins = rng.random(len(needed) + 1) < 0.5
    chosen = np.flatnonzero(coins[:-1]).tolist()
    mask = 0
    if coins[-1]:
        for unit in chosen:
            mask |= needed[unit]
        return mask
    kept = sum(1 << unit for unit in chosen)
    for unit in chosen:
        if needed[unit] & ~kept == 0:
            mask |= 1 << unit
    return mask
