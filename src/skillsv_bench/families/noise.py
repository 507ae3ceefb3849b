"""Kinds of noise of a family game: how an agent departs from the formula of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skillsv_bench.planted.game import Floats

GRADED_RANGE = 0.8
"""The thresholds of a graded task lie between minus and plus this logit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyNoise:
    """The noise of one game, task by task: `temperature` and `lapse` have an entry per kind of task, used in turn.

    Each threshold of a task is passed with the chance 1 / (1 + exp(-distance / temperature)). A lapse turns the whole
    score over. With `brittle` the agent gives the same answer to the same prompt, and another draw of the same chance
    to any other prompt, even if the change means nothing.
    """

    temperature: tuple[float, ...] = (0.0,)
    lapse: tuple[float, ...] = (0.0,)
    brittle: bool = False

    @property
    def steady(self) -> bool:
        """Whether every score follows from the formula alone."""
        return not any(self.temperature) and not any(self.lapse)

    def of_tasks(self, tasks: int) -> tuple[Floats, Floats]:
        """Temperature and lapse of each task."""
        return np.resize(self.temperature, tasks), np.resize(self.lapse, tasks)


NOISES: Mapping[str, FamilyNoise] = {
    "T=0": FamilyNoise(),
    "T=.25": FamilyNoise(temperature=(0.25,)),
    "T=.5": FamilyNoise(temperature=(0.5,)),
    "lapse": FamilyNoise(lapse=(0.08,)),
    "mix": FamilyNoise(temperature=(0.0, 0.5, 0.0, 1.5), lapse=(0.0, 0.04, 0.0, 0.04)),
    "brittle": FamilyNoise(temperature=(0.25,), brittle=True),
}
"""The kinds of noise by the names that tables show. `mix`: steady and coin-like tasks in one panel."""


def thresholds(levels: int) -> Floats:
    """The logits at which the score of a task rises."""
    return np.zeros(1) if levels == 1 else np.linspace(-GRADED_RANGE, GRADED_RANGE, levels)


def passing_chances(logits: Floats, temperature: Floats) -> Floats:
    """The chance of passing a threshold at zero, elementwise."""
    sure = (logits > 0).astype(np.float64)
    if not temperature.any():
        return sure
    warm = np.where(temperature > 0, temperature, 1.0)
    chances = 1.0 / (1.0 + np.exp(-np.clip(logits / warm, -700.0, 700.0)))
    return np.where(temperature > 0, chances, sure)
