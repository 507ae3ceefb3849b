"""Stop rules: when a run starts no more rollouts. Rules are values that combine with `|` and `&`.

    Budget(2400) | UntilWidth(0.03)              stops when one of the two rules stops
    UntilResolved(0.9) & UntilWidth(0.05)        stops when both rules stop

The scheduler checks the limits of a session (attempts, tokens, dollars, seconds) before each attempt. An adaptive
policy checks the rules about its record and its estimates before each batch of requests. Both pass a `Progress` that
holds what they know; a rule about something that its caller does not know never stops.

To add a rule, write a frozen dataclass that inherits from `Combinable` and has `room` and `reason`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from skillsv.errors import SettingsError
from skillsv.model.rollout import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateStatus:
    """How precise the estimates are: the widest interval of a net effect, and the share of units with a verdict.

    `tasks` says by task id how much more rollouts would help the units that have no verdict yet.
    """

    width: float = math.inf
    resolved: float = 0.0
    tasks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is. The scheduler fills in the first three fields, an adaptive policy the next two.

    `attempts`, `usage` and `seconds` belong to one session; pending rollouts count at the average usage. `recorded`
    counts the rollouts in the record of an adaptive run, those from the ledger included. `agents` is among how many
    agents the user's limits of tokens and money were divided: reasons name the user's limit, not the share.
    """

    attempts: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    recorded: int = 0
    estimate: EstimateStatus = field(default_factory=EstimateStatus)
    agents: int = 1


class StopRule(Protocol):
    """Says how many rollouts may still start, and why no more may."""

    def room(self, progress: Progress) -> float:
        """How many rollouts may still start: 0 to stop, infinite where the rule does not count rollouts."""

    def reason(self, progress: Progress) -> str:
        """The limit in a few words, such as "500 rollouts"."""

    def reached(self, progress: Progress) -> str | None:
        """The reason if no rollout may start, else None."""

    def seconds_left(self, progress: Progress) -> float:
        """The seconds after which time alone makes the rule stop: infinite for a rule that does not count time."""


class Combinable:
    """Gives stop rules `|`, `&`, `reached`, and `seconds_left` of a rule that does not count time."""

    __slots__ = ()

    def __or__(self: StopRule, other: StopRule) -> Either:
        return Either(self, other)

    def __and__(self: StopRule, other: StopRule) -> Both:
        return Both(self, other)

    def reached(self: StopRule, progress: Progress) -> str | None:
        """The reason if no rollout may start, else None."""
        return self.reason(progress) if self.room(progress) <= 0 else None

    def seconds_left(self: StopRule, progress: Progress) -> float:
        """0 for a rule that stops now, else infinite: the passing of time does not change it."""
        return 0.0 if self.room(progress) <= 0 else math.inf


@dataclass(frozen=True, slots=True)
class Either(Combinable):
    """Stops when one of two rules stops."""

    left: StopRule
    right: StopRule

    def room(self, progress: Progress) -> float:
        """The smaller room."""
        return min(self.left.room(progress), self.right.room(progress))

    def reason(self, progress: Progress) -> str:
        """The reason of the rule that leaves less room."""
        return min(self.left, self.right, key=lambda rule: rule.room(progress)).reason(progress)

    def seconds_left(self, progress: Progress) -> float:
        """Until the first of the two rules stops."""
        return min(self.left.seconds_left(progress), self.right.seconds_left(progress))


@dataclass(frozen=True, slots=True)
class Both(Combinable):
    """Stops when both rules stop."""

    left: StopRule
    right: StopRule

    def room(self, progress: Progress) -> float:
        """The larger room."""
        return max(self.left.room(progress), self.right.room(progress))

    def reason(self, progress: Progress) -> str:
        """Both reasons."""
        return f"{self.left.reason(progress)} and {self.right.reason(progress)}"

    def seconds_left(self, progress: Progress) -> float:
        """Until both rules stop."""
        return max(self.left.seconds_left(progress), self.right.seconds_left(progress))


@dataclass(frozen=True, slots=True)
class Continued(Combinable):
    """A rule of a job with several sessions: what the earlier ones spent counts, and the rule keeps its own words."""

    rule: StopRule
    earlier: Progress

    def room(self, progress: Progress) -> float:
        """The room that the earlier sessions leave."""
        return self.rule.room(self._sum(progress))

    def reason(self, progress: Progress) -> str:
        """The limit of the whole job."""
        return self.rule.reason(self._sum(progress))

    def seconds_left(self, progress: Progress) -> float:
        """The time that the earlier sessions leave."""
        return self.rule.seconds_left(self._sum(progress))

    def _sum(self, progress: Progress) -> Progress:
        earlier = self.earlier
        return replace(
            progress,
            attempts=earlier.attempts + progress.attempts,
            usage=earlier.usage + progress.usage,
            seconds=earlier.seconds + progress.seconds,
        )


@dataclass(frozen=True, slots=True)
class ShareOf(Combinable):
    """A rule with the limits of one of several agents, among whom those of tokens and money were divided."""

    rule: StopRule
    agents: int

    def room(self, progress: Progress) -> float:
        """The room of the share."""
        return self.rule.room(progress)

    def reason(self, progress: Progress) -> str:
        """The limit of all agents, and the share."""
        return self.rule.reason(replace(progress, agents=self.agents))

    def seconds_left(self, progress: Progress) -> float:
        """The time that is left: it is not divided."""
        return self.rule.seconds_left(progress)


@dataclass(frozen=True, slots=True)
class Never(Combinable):
    """Never stops."""

    def room(self, progress: Progress) -> float:  # noqa: ARG002
        """Infinite."""
        return math.inf

    def reason(self, progress: Progress) -> str:  # noqa: ARG002
        """No limit."""
        return "nothing"


@dataclass(frozen=True, slots=True)
class MaxAttempts(Combinable):
    """At most so many attempts in this session. A retry counts: it may cost as much as the first attempt."""

    most: int

    def room(self, progress: Progress) -> float:
        """The attempts that are left."""
        return max(self.most - progress.attempts, 0)

    def reason(self, progress: Progress) -> str:  # noqa: ARG002
        """The limit."""
        return f"{self.most:,} rollouts"


@dataclass(frozen=True, slots=True)
class MaxTokens(Combinable):
    """At most so many tokens in this session, input and output; unknown usage counts as 0."""

    most: int

    def room(self, progress: Progress) -> float:
        """0 once the tokens are used up."""
        used = (progress.usage.input_tokens or 0) + (progress.usage.output_tokens or 0)
        return 0 if used >= self.most else math.inf

    def reason(self, progress: Progress) -> str:
        """The limit."""
        limit = f"{self.most * progress.agents:,} tokens"
        return limit if progress.agents == 1 else f"{limit} (one agent's share: {self.most:,})"


@dataclass(frozen=True, slots=True)
class MaxDollars(Combinable):
    """At most so much money in this session; an unknown price counts as 0."""

    most: float

    def room(self, progress: Progress) -> float:
        """0 once the money is used up."""
        return 0 if (progress.usage.usd or 0.0) >= self.most else math.inf

    def reason(self, progress: Progress) -> str:
        """The limit."""
        limit = f"${self.most * progress.agents:,.2f}"
        return limit if progress.agents == 1 else f"{limit} (one agent's share: ${self.most:,.2f})"


@dataclass(frozen=True, slots=True)
class MaxSeconds(Combinable):
    """At most so much time in this session; rollouts that run may finish, waits for a retry end."""

    most: float

    def room(self, progress: Progress) -> float:
        """0 once the time is used up."""
        return 0 if progress.seconds >= self.most else math.inf

    def reason(self, progress: Progress) -> str:  # noqa: ARG002
        """The limit."""
        return f"{self.most:,.0f} s"

    def seconds_left(self, progress: Progress) -> float:
        """The time that is left."""
        return max(self.most - progress.seconds, 0.0)


@dataclass(frozen=True, slots=True)
class MaxRollouts(Combinable):
    """At most so many rollouts in the record of an adaptive run, those from the ledger included."""

    most: int

    def __post_init__(self) -> None:
        if self.most < 1:
            raise SettingsError(f"a budget of {self.most} rollouts buys nothing.")

    def room(self, progress: Progress) -> float:
        """The rollouts that are left."""
        return max(self.most - progress.recorded, 0)

    def reason(self, progress: Progress) -> str:  # noqa: ARG002
        """The budget, without its number: checks before the policy have used a part of what the user allowed."""
        return "the budget of rollouts"


@dataclass(frozen=True, slots=True)
class UntilWidth(Combinable):
    """Until the interval of every net effect is at most so wide, as a share of the score."""

    most: float

    def __post_init__(self) -> None:
        if not 0.0 < self.most <= 2.0:
            raise SettingsError(f"an interval {100 * self.most:g} points wide cannot be aimed at.", hint="3 is usual.")

    def room(self, progress: Progress) -> float:
        """0 once every interval is narrow enough."""
        return 0 if progress.estimate.width <= self.most else math.inf

    def reason(self, progress: Progress) -> str:  # noqa: ARG002
        """The width."""
        return f"every interval at most {100 * self.most:g} points wide"


@dataclass(frozen=True, slots=True)
class UntilResolved(Combinable):
    """Until at least this share of the units has a verdict."""

    share: float

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise SettingsError(f"a share of {self.share:g} is not between 0 and 1.", hint="0.9 is usual.")

    def room(self, progress: Progress) -> float:
        """0 once enough units have a verdict."""
        return 0 if progress.estimate.resolved >= self.share else math.inf

    def reason(self, progress: Progress) -> str:  # noqa: ARG002
        """The share."""
        return f"a verdict on {self.share:.0%} of the units"


def budget(
    *, rollouts: int | None = None, tokens: int | None = None, usd: float | None = None, seconds: float | None = None
) -> StopRule:
    """The limits of a session: the first one that is reached stops it. None is no limit."""
    rule: StopRule = Never()
    if rollouts is not None:
        rule = Either(rule, MaxAttempts(rollouts))
    if tokens is not None:
        rule = Either(rule, MaxTokens(tokens))
    if usd is not None:
        rule = Either(rule, MaxDollars(usd))
    if seconds is not None:
        rule = Either(rule, MaxSeconds(seconds))
    return rule
