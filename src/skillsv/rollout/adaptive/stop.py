"""When an adaptive run has seen enough: rules as values that combine.

Budget(2400) | UntilWidth(0.03)             whichever comes first
UntilResolved(0.9) & UntilWidth(0.05)       only when both hold
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from skillsv.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateStatus:
    """How the values stand: the widest interval of a net effect, the share of units with a verdict, and where to look.

    `tasks` says by task id how much more rollouts would help the units whose verdict is open.
    """

    width: float = math.inf
    resolved: float = 0.0
    tasks: Mapping[str, float] = field(default_factory=dict)


class StopRule(Protocol):
    """Says how many rollouts may still be asked for (0: stop), and why it stopped."""

    def room(self, spent: int, standing: EstimateStatus) -> float:
        """Rollouts that may still be asked for; infinite where the rule is not about rollouts."""

    def reason(self, spent: int, standing: EstimateStatus) -> str:
        """A few words on what was reached."""


class Combining:
    """Gives rules their `|` and `&`."""

    __slots__ = ()

    def __or__(self: StopRule, other: StopRule) -> Either:
        return Either(self, other)

    def __and__(self: StopRule, other: StopRule) -> Both:
        return Both(self, other)


@dataclass(frozen=True, slots=True)
class Either(Combining):
    """Stops when one of two rules does."""

    left: StopRule
    right: StopRule

    def room(self, spent: int, standing: EstimateStatus) -> float:
        """The smaller room."""
        return min(self.left.room(spent, standing), self.right.room(spent, standing))

    def reason(self, spent: int, standing: EstimateStatus) -> str:
        """The reason of the rule that stopped."""
        first = self.left if self.left.room(spent, standing) <= 0 else self.right
        return first.reason(spent, standing)


@dataclass(frozen=True, slots=True)
class Both(Combining):
    """Stops when both rules do."""

    left: StopRule
    right: StopRule

    def room(self, spent: int, standing: EstimateStatus) -> float:
        """The larger room."""
        return max(self.left.room(spent, standing), self.right.room(spent, standing))

    def reason(self, spent: int, standing: EstimateStatus) -> str:
        """Both reasons."""
        return f"{self.left.reason(spent, standing)} and {self.right.reason(spent, standing)}"


@dataclass(frozen=True, slots=True)
class Never(Combining):
    """Never stops by itself: another limit must."""

    def room(self, spent: int, standing: EstimateStatus) -> float:  # noqa: ARG002
        """No end."""
        return math.inf

    def reason(self, spent: int, standing: EstimateStatus) -> str:  # noqa: ARG002
        """It never stops."""
        return "nothing"


@dataclass(frozen=True, slots=True)
class Budget(Combining):
    """At most so many rollouts, those already in the ledger included: the record never holds more."""

    most: int

    def __post_init__(self) -> None:
        if self.most < 1:
            raise SettingsError(f"a budget of {self.most} rollouts buys nothing.")

    def room(self, spent: int, standing: EstimateStatus) -> float:  # noqa: ARG002
        """What is left."""
        return max(self.most - spent, 0)

    def reason(self, spent: int, standing: EstimateStatus) -> str:  # noqa: ARG002
        """The budget."""
        return f"{self.most:,} rollouts"


@dataclass(frozen=True, slots=True)
class UntilWidth(Combining):
    """Until every net effect's interval is at most so wide, as a share of the score."""

    most: float

    def __post_init__(self) -> None:
        if not 0.0 < self.most <= 2.0:
            raise SettingsError(f"an interval {100 * self.most:g} points wide cannot be aimed at.", hint="3 is usual.")

    def room(self, spent: int, standing: EstimateStatus) -> float:  # noqa: ARG002
        """All or nothing."""
        return 0 if standing.width <= self.most else math.inf

    def reason(self, spent: int, standing: EstimateStatus) -> str:  # noqa: ARG002
        """The width."""
        return f"every interval at most {100 * self.most:g} points wide"


@dataclass(frozen=True, slots=True)
class UntilResolved(Combining):
    """Until at least this share of the units has a verdict."""

    share: float

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise SettingsError(f"a share of {self.share:g} is not between 0 and 1.", hint="0.9 is usual.")

    def room(self, spent: int, standing: EstimateStatus) -> float:  # noqa: ARG002
        """All or nothing."""
        return 0 if standing.resolved >= self.share else math.inf

    def reason(self, spent: int, standing: EstimateStatus) -> str:  # noqa: ARG002
        """The share."""
        return f"a verdict on {self.share:.0%} of the units"
