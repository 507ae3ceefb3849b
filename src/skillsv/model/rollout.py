"""One agent run on one task: what was asked, what came back, what it cost, or why it failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from skillsv.model.coalition import Coalition, Operator

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a rollout used. None is unknown, which is not the same as nothing."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            usd=_sum(self.usd, other.usd),
        )


def _sum(left: Number | None, right: Number | None) -> Number | None:
    if left is None:
        return right
    return left if right is None else left + right


class FailureKind(StrEnum):
    """Why a rollout has no score. None of these is a wrong answer."""

    TIMEOUT = "timeout"
    CRASH = "crash"
    RATE_LIMIT = "rate-limit"
    OVERLOAD = "overload"
    CONNECTION = "connection"
    REFUSAL = "refusal"
    CONTEXT_OVERFLOW = "context-overflow"
    BAD_REQUEST = "bad-request"
    BAD_OUTPUT = "bad-output"  # undecodable or over the output limit
    EMPTY_ANSWER = "empty-answer"
    CUT_ANSWER = "cut-answer"  # by the token limit, where such answers are not scored
    VERIFIER = "verifier"
    SANDBOX = "sandbox"
    DISK = "disk"
    CANCELLED = "cancelled"

    @property
    def worth_retrying(self) -> bool:
        """Whether running the agent again may help. A verifier was asked again already, about the same answer.

        A cut answer is not asked for again: the limit stays the same, and to keep only the short answers is a bias.
        """
        hopeless = {FailureKind.BAD_REQUEST, FailureKind.CONTEXT_OVERFLOW, FailureKind.CANCELLED, FailureKind.VERIFIER}
        return self not in hopeless | {FailureKind.CUT_ANSWER}


class Ending(StrEnum):
    """How an agent came to its answer. A failure has no answer, and no ending.

    `CUT`: the token limit ended the answer; the user chooses whether it is scored. `TURN_LIMIT`: the agent still called
    tools in its last turn; that is its own behaviour, so the answer is what it said last, and it is scored.
    """

    ANSWERED = "answered"
    CUT = "cut"
    TURN_LIMIT = "turn-limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFailure:
    """A failure of the infrastructure. `retry_after` is the wait in seconds that a service asked for.

    `lost`: the machine or process that ran it is gone, which says nothing about this rollout.
    """

    kind: FailureKind
    message: str
    retry_after: float | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an agent gives back for one task.

    `opened` says whether the agent really looked at the skill (None: it cannot tell). `scores` are those that the agent
    was given by an evaluator of its own, by the scorer's name; the verifier `inspect` reads them. `ending` says whether
    the answer is whole.
    """

    answer: str
    usage: Usage = Usage()
    transcript: str | None = None
    opened: bool | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    ending: Ending = Ending.ANSWERED


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutKey:
    """What makes two rollouts the same: tree digest, task digest, agent fingerprint, replicate."""

    tree: str
    task: str
    agent: str
    replicate: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A finished rollout: either a score in [0, 1] or a failure, never both."""

    key: RolloutKey
    task_id: str
    score: float | None
    failure: RolloutFailure | None = None
    usage: Usage = Usage()
    duration: float = 0.0
    attempts: int = 1
    answer: str = ""
    transcript: str | None = None
    opened: bool | None = None
    ending: Ending = Ending.ANSWERED


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A rollout that a policy wants: this coalition, this task. `why` is kept in the records."""

    coalition: Coalition
    operator: Operator
    task: str
    replicate: int = 0
    why: str = "chain"


Answers = Mapping[Request, float | None]
"""Scores of finished requests; None is missing (the infrastructure failed for good)."""
