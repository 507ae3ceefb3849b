"""How well a description selects requests: precision and recall with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from skillsv.model.value import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What an agent decided on one request: `opened` is the share of its rollouts in which it opened the skill."""

    task: str
    should_trigger: bool
    opened: float

    @property
    def right(self) -> bool:
        """Whether the agent decided rightly in most of its rollouts."""
        return (self.opened > 0.5) is self.should_trigger


def estimate_precision(decisions: Sequence[Decision], level: float) -> Interval | None:
    """The share of requests that should open the skill among those that did; None where none did."""
    opened = sum(decision.opened for decision in decisions)
    return _share(sum(decision.opened for decision in decisions if decision.should_trigger), opened, level)


def estimate_recall(decisions: Sequence[Decision], level: float) -> Interval | None:
    """The share of requests that opened the skill among those that should; None where none should."""
    wanted = [decision.opened for decision in decisions if decision.should_trigger]
    return _share(sum(wanted), len(wanted), level)


def _share(part: float, total: float, level: float) -> Interval | None:
    """A share with Wilson's interval. Counts may be fractions, where a request was asked several times."""
    if total <= 0:
        return None
    share, z = part / total, NormalDist().inv_cdf((1 + level) / 2)
    spread = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / spread
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / spread
    return Interval(share, max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half)))
