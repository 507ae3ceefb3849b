"""Which tasks get the next rollouts: those where something is open, and every task now and then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from skillsv.rollout.adaptive.task_table import TaskTable

Floats = npt.NDArray[np.float64]

FLOOR = 0.15
"""The share of rollouts that goes to all tasks alike, whatever seems to be settled."""

ROTATIONS = 2
"""Every task is visited this often before any is preferred; in a rotation, tasks with something to trace go first."""


def share_visits(
    tables: Sequence[TaskTable],
    rounds: npt.NDArray[np.int64],
    weights: Floats | None,
    count: int,
    rng: np.random.Generator,
) -> list[int]:
    """Different tasks for one round of visits: many deciding units and few agreeing scores since the last surprise."""
    if rounds.min() < ROTATIONS:
        settled = np.array([table.conflict is None for table in tables])
        return [int(task) for task in np.lexsort((rng.random(len(tables)), settled, rounds))[:count]]
    openness = np.array([(len(table.units) + 0.3) / (1.0 + table.clean) for table in tables])
    chance = _mixed(openness, weights)
    return [int(task) for task in rng.choice(len(tables), size=count, replace=False, p=chance)]


def share_noisy(
    sums: Floats, rounds: npt.NDArray[np.int64], weights: Floats | None, count: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Tasks for one round of closed sets: two in five in rotation, the rest where scores vary most."""
    rotation = round(0.4 * count)
    first = np.lexsort((rng.random(len(rounds)), rounds))
    rotated = np.resize(first, rotation)
    rate = (sums[:, 1] + 1.0) / (sums[:, 0] + 2.0)
    chance = _mixed(np.sqrt(rate * (1.0 - rate) + 0.01), weights)
    return np.concatenate([rotated, rng.choice(len(rounds), size=count - rotation, p=chance)]).astype(np.int64)


def _mixed(openness: Floats, weights: Floats | None) -> Floats:
    """Probabilities: a floor for all, the rest by openness, half of it by the judge's weights where there is one."""
    own = openness / openness.sum()
    if weights is not None and weights.sum() > 0:
        own = 0.5 * own + 0.5 * weights / weights.sum()
    chance: Floats = FLOOR / len(own) + (1.0 - FLOOR) * own
    chance /= chance.sum()
    return chance


# Is the agent noisy? Asked again and again, to the end of the run, wherever a score surprises.

WINDOW = 40


@dataclass(slots=True)
class Monitor:
    """Counts two kinds of checks; only the last ones decide, so that noise which begins late is noticed.

    *Repeat*: a score that contradicts the forecast is asked for once more. A deterministic agent repeats itself.
    *Further*: after a jump was traced to one unit, one more unit is changed. A score that goes back betrays noise, or
    an agent that repeats itself but is thrown off by any change, which repeats do not show.
    """

    repeats: list[bool] = field(default_factory=list)
    further: list[bool] = field(default_factory=list)

    @property
    def reverts(self) -> int:
        """All checks that failed so far."""
        return sum(self.repeats) + sum(self.further)

    @property
    def checks(self) -> int:
        """All checks so far."""
        return len(self.repeats) + len(self.further)

    @property
    def noisy(self) -> bool:
        """Two failed repeats; or two scores that went back, and one in ten of the checks."""
        recent = self.further[-WINDOW:]
        back = sum(recent)
        return sum(self.repeats[-WINDOW:]) >= 2 or (back >= 2 and 10 * back >= len(recent))
