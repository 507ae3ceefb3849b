"""How likely a proof succeeds: the arithmetic that plans one before anything is spent.

A proof compares two versions in pairs: both on the same task. With n tasks, m >= n pairs (a task may have several) and
a variance v of a pair's difference, the bound of `gate.lower_bound` lies about

    1/n + z sqrt(v/m + 1/n^2)

below the mean difference: the imaginary task on which everything is lost has a weight of 1/n in the mean, and its
weight varies by 1/n. With v = 0 this is 2.6/n at 95 %, and the exact bound is 3.0/n; so the exact least number of tasks
is required besides. The mean difference itself varies by sqrt(v/m).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skillsv.confirmation.gate import Gate
from skillsv.confirmation.scoring import Floats

USUAL_VARIANCE = 0.1
"""Variance of a pair's difference that is assumed before anything is measured: agents have .08 to .13."""

WANTED_POWER = 0.8
"""The power that a sentence about a sufficient budget means."""

LEAST_POWER = 0.5
"""Below this power a proof fails more often than not, and a run stops before it spends the rest."""

MOST_PAIRS = 200_000
"""Pairs above which the search for a sufficient number ends."""

IMAGINARY_TASKS = 4
"""Tasks of the usual variance that are added to those measured."""

LARGEST_DROP = 0.5
"""Share of the score: the largest drop that is named as one that could be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofSize:
    """The size of a proof: pairs of rollouts, on so many distinct tasks."""

    pairs: int
    tasks: int

    @property
    def rollouts(self) -> int:
        """Each pair takes a rollout of either version."""
        return 2 * self.pairs


def proof_size(rollouts: int, tasks: int) -> ProofSize:
    """The largest proof that so many rollouts pay for, where so many tasks are held out."""
    pairs = max(rollouts, 0) // 2
    return ProofSize(pairs=pairs, tasks=min(pairs, tasks))


def power(gate: Gate, size: ProofSize, variance: float | Floats, drop: float | Floats = 0.0) -> Floats:
    """The chance that a version that really loses `drop` is shown to lose no more than the gate allows.

    `variance` is that of the mean difference times the number of pairs. Arrays give one chance for each entry.
    """
    from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

    drop, variance = np.broadcast_arrays(np.asarray(drop, dtype=np.float64), np.asarray(variance, dtype=np.float64))
    if size.tasks < gate.tasks_needed():
        return np.zeros(drop.shape)
    spread = np.sqrt(np.maximum(variance, 0.0) / size.pairs)
    bound = 1.0 / size.tasks + float(ndtri(gate.level)) * np.sqrt(spread**2 + size.tasks**-2)
    room = gate.max_drop - bound - drop
    chance: Floats = ndtr(room / np.maximum(spread, 1e-9))
    return chance


def pairs_needed(gate: Gate, variance: float, *, wanted: float = WANTED_POWER, drop: float = 0.0) -> int | None:
    """The pairs, each on a task of its own, that show a version that really loses `drop` to be no worse."""
    low, high = 1, gate.tasks_needed()
    while power(gate, ProofSize(pairs=high, tasks=high), variance, drop) < wanted:
        low, high = high, 2 * high
        if high > MOST_PAIRS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        reached = power(gate, ProofSize(pairs=middle, tasks=middle), variance, drop) >= wanted
        low, high = (low, middle) if reached else (middle, high)
    return high


def pair_variance(first: Floats, second: Floats) -> float:
    """The variance of a pair's difference, from scores of the same skill under two null changes.

    Few tasks say little about it: a few imaginary tasks of the usual variance are added.
    """
    differences = (first - second)[~np.isnan(first - second)]
    total = float((differences**2).sum()) + IMAGINARY_TASKS * USUAL_VARIANCE
    return total / (len(differences) + IMAGINARY_TASKS)


def expected_power(gate: Gate, size: ProofSize, variance: Floats, drops: Floats) -> Floats:
    """The mean power over draws of the drop (the last axis), with the variance of each draw."""
    mean: Floats = power(gate, size, variance, drops).mean(axis=-1)
    return mean
