"""What all optimizers share when they play a growth game: the count of metric calls, and the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers.growth import GrowthGame

TRAIN = 96
"""Examples that the optimizers learn from."""

VALIDATION = 48
"""Examples that select their result."""

BATCH = 6
"""Examples of one reflection."""

FAILED = "failed topic {}"
"""How feedback names the topic of an example that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """The text that an optimizer ends with, all metric calls, and those of them that pruning took."""

    text: str
    calls: int
    pruning: int = 0


Play = Callable[[GrowthGame, int, PrunePolicy | None], Grown]
"""Plays a game within a total of metric calls, with pruning by a policy or without."""


class Calls:
    """Counts metric calls."""

    def __init__(self, game: GrowthGame, budget: int) -> None:
        self.game, self.budget, self.made = game, budget, 0

    def score(self, text: str, example: object) -> float:
        """The score of a text on one example."""
        self.made += 1
        return self.game.score(text, example)

    @property
    def left(self) -> int:
        """The calls that are left."""
        return self.budget - self.made


def failed_topics(feedback: str) -> list[int]:
    """The topics that feedback names as failed."""
    return [int(topic) for topic in re.findall(FAILED.format(r"(\d+)"), feedback)]
