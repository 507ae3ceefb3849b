"""Decides during a run whether the agent is noisy.

The task searches record checks here, and the policy reads the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field

WINDOW = 40
"""Checks of each kind that count, the most recent ones: noise that begins late is then noticed."""

FAILURES = 2
"""Failed checks that mean noise: a single one may be an accident."""

NEIGHBOUR_CHECKS_PER_FAILURE = 10
"""Neighbour checks for which one must have failed: rare failures may come from interactions of units."""


@dataclass(slots=True)
class NoiseMonitor:
    """Counts three kinds of checks; an entry is True where the check failed.

    *Repeat*: a score that contradicts the predicted one is measured again. A deterministic agent gives it again.
    *Sample*: a rollout drawn over tasks and sizes of coalitions is repeated, whether or not its score was expected.
    *Neighbour*: after a change of the score was traced to one unit, a coalition with one more unit changed is scored.
    A score that goes back shows noise, or an agent that repeats its answers but reacts to any change of the prompt;
    repeats do not show the latter.
    """

    repeats: list[bool] = field(default_factory=list)
    neighbours: list[bool] = field(default_factory=list)
    samples: list[bool] = field(default_factory=list)

    @property
    def differing(self) -> int:
        """The number of repeated scores that changed, expected or not."""
        return sum(self.repeats) + sum(self.samples)

    @property
    def noisy(self) -> bool:
        """Whether enough of the most recent checks failed: repeats and samples together, or neighbours alone."""
        changed = sum(self.repeats[-WINDOW:]) + sum(self.samples[-WINDOW:])
        neighbours = self.neighbours[-WINDOW:]
        reverted = sum(neighbours)
        often = NEIGHBOUR_CHECKS_PER_FAILURE * reverted >= len(neighbours)
        return changed >= FAILURES or (reverted >= FAILURES and often)
