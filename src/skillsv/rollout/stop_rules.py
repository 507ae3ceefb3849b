"""When to stop spending: limits as values that combine.

Rollouts(500) | Dollars(20)          whichever comes first
Seconds(3600) & Rollouts(100)        only when both are reached
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from skillsv.model.rollout import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one session has used, with what runs now counted at the average. `rollouts` counts every attempt started."""

    rollouts: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


class Limit(Protocol):
    """Says why nothing more may be started, or None."""

    def reached(self, spent: Spent) -> str | None:
        """The reason in a few words, such as "500 rollouts"."""


class Combining:
    """Gives limits their `|` and `&`."""

    __slots__ = ()

    def __or__(self: Limit, other: Limit) -> Either:
        return Either(self, other)

    def __and__(self: Limit, other: Limit) -> Both:
        return Both(self, other)


@dataclass(frozen=True, slots=True)
class Either(Combining):
    """Reached when one of two limits is."""

    left: Limit
    right: Limit

    def reached(self, spent: Spent) -> str | None:
        """The first reason there is."""
        return self.left.reached(spent) or self.right.reached(spent)


@dataclass(frozen=True, slots=True)
class Both(Combining):
    """Reached when both limits are."""

    left: Limit
    right: Limit

    def reached(self, spent: Spent) -> str | None:
        """Both reasons, once there are two."""
        left, right = self.left.reached(spent), self.right.reached(spent)
        return f"{left} and {right}" if left and right else None


@dataclass(frozen=True, slots=True)
class Unlimited(Combining):
    """Never reached."""

    def reached(self, spent: Spent) -> str | None:  # noqa: ARG002
        """No reason to stop."""
        return None


@dataclass(frozen=True, slots=True)
class Rollouts(Combining):
    """At most so many attempts. A retry counts: it may cost as much as the first try."""

    most: int

    def reached(self, spent: Spent) -> str | None:
        """Whether one more would be too many."""
        return f"{self.most:,} rollouts" if spent.rollouts >= self.most else None


@dataclass(frozen=True, slots=True)
class Tokens(Combining):
    """At most so many tokens, in and out; unknown usage counts as nothing."""

    most: int

    def reached(self, spent: Spent) -> str | None:
        """Whether the tokens are used up."""
        used = (spent.usage.input_tokens or 0) + (spent.usage.output_tokens or 0)
        return f"{self.most:,} tokens" if used >= self.most else None


@dataclass(frozen=True, slots=True)
class Dollars(Combining):
    """At most so much money; an unknown price counts as nothing."""

    most: float

    def reached(self, spent: Spent) -> str | None:
        """Whether the money is used up."""
        return f"${self.most:,.2f}" if (spent.usage.usd or 0.0) >= self.most else None


@dataclass(frozen=True, slots=True)
class Seconds(Combining):
    """At most so much time; what is in flight may finish."""

    most: float

    def reached(self, spent: Spent) -> str | None:
        """Whether the time is up."""
        return f"{self.most:,.0f} s" if spent.seconds >= self.most else None


def budget(
    *, rollouts: int | None = None, tokens: int | None = None, usd: float | None = None, seconds: float | None = None
) -> Limit:
    """The limits that were given, whichever comes first."""
    given: list[Limit] = []
    if rollouts is not None:
        given.append(Rollouts(rollouts))
    if tokens is not None:
        given.append(Tokens(tokens))
    if usd is not None:
        given.append(Dollars(usd))
    if seconds is not None:
        given.append(Seconds(seconds))
    total: Limit = Unlimited()
    for limit in given:
        total = Either(total, limit)
    return total
