"""How many replicates the rollouts of a confirmation or a pair test have: several where the agent is noisy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skillsv.model.coalition import Coalition, Operator
from skillsv.model.rollout import Request
from skillsv.rollout import Runner, check_noise

NOISY_REPLICATES = 3
"""Replicates of each rollout where the agent is noisy and no number was given."""

REPEATED = 16
"""Rollouts that are repeated to see whether the agent is deterministic."""

NOISE_STREAM = 15
"""Random stream of the repeated rollouts."""


async def choose_replicates(
    runner: Runner, coalitions: Sequence[Coalition], tasks: Sequence[str], *, given: int | None, seed: int
) -> tuple[int, tuple[str, ...]]:
    """The number given, or what a noise check shows; and a note for a noisy agent.

    The check repeats rollouts that are needed anyway, drawn over the coalitions and the tasks.
    """
    if given is not None:
        return given, ()
    (noise,) = await runner.run_policies([check_noise(_draw(coalitions, tasks, seed))])
    if noise.deterministic:
        return 1, ()
    return NOISY_REPLICATES, (f"{noise.finding()} Every score is the mean of {NOISY_REPLICATES} replicates.",)


def count_repeats(coalitions: int, tasks: int, *, given: int | None) -> int:
    """The rollouts that the noise check adds for a deterministic agent; a noisy one needs them as replicates."""
    return 0 if given is not None else min(REPEATED, coalitions * tasks)


def _draw(coalitions: Sequence[Coalition], tasks: Sequence[str], seed: int) -> list[Request]:
    pairs = [(coalition, task) for coalition in dict.fromkeys(coalitions) for task in tasks]
    rng = np.random.default_rng([seed, NOISE_STREAM])
    drawn = rng.choice(len(pairs), size=min(REPEATED, len(pairs)), replace=False).tolist()
    return [
        Request(coalition=coalition, operator=Operator.DELETE, task=task, replicate=0, why="check:noise")
        for coalition, task in map(pairs.__getitem__, drawn)
    ]
