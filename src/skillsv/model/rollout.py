"""One run of the agent on one task: the request, the outcome, the usage, and the failure if there was one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self, TypeVar

from skillsv.model.coalition import Coalition, Operator

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and money that a rollout used. None means unknown, which is not zero."""

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
    """Why a rollout has no score. A wrong answer is not a failure: its score is 0."""

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
        """Whether another attempt of the agent may succeed.

        `VERIFIER`: the engine has already asked the verifier again about the same answer. `CUT_ANSWER`: the token limit
        stays the same, and keeping only the answers that happen to be short would bias the score.
        """
        return self not in {
            FailureKind.BAD_REQUEST,
            FailureKind.CONTEXT_OVERFLOW,
            FailureKind.CANCELLED,
            FailureKind.VERIFIER,
            FailureKind.CUT_ANSWER,
        }


class Ending(StrEnum):
    """How the agent's answer ended. A failed rollout has no answer and no ending."""

    ANSWERED = "answered"
    CUT = "cut"  # by the token limit; a setting decides whether the answer is scored
    TURN_LIMIT = "turn-limit"  # the agent still called tools in its last allowed turn; its last text is scored


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFailure:
    """A failure of the infrastructure. `retry_after` is the wait in seconds that a service asked for.

    `lost`: the machine or process that ran the rollout disappeared, so the failure has nothing to do with the rollout.
    """

    kind: FailureKind
    message: str
    retry_after: float | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an agent returns for one task.

    `opened` says whether the agent read the skill (None: unknown). `scores` are the scores of the agent's own evaluator
    by scorer name, if it has one; the verifier `inspect` reads them. `ending` says whether the answer is complete.
    `turns` counts the requests to the model, where the agent says so.
    """

    answer: str
    usage: Usage = Usage()
    transcript: str | None = None
    opened: bool | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    ending: Ending = Ending.ANSWERED
    turns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutKey:
    """Identifies a rollout: digest of the rendering (`tree`), digest of the task, agent fingerprint, replicate."""

    tree: str
    task: str
    agent: str
    replicate: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A finished rollout: either a score in [0, 1] or a failure, never both. `duration` is in seconds."""

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


RECHECK = "recheck:"
"""The reason of a request that repeats a stored rollout begins so. Its replicate is the same, its key is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A rollout that a policy asks for: one coalition on one task. `why`, the reason, is stored in the records.

    `null_change` asks for another rendering of the same coalition, with a change that means nothing: the number of the
    change, 0 for none. An agent that repeats the same prompt to the letter may still be thrown by any change of it.
    """

    coalition: Coalition
    operator: Operator
    task: str
    replicate: int = 0
    why: str = "chain"
    null_change: int = 0


class RequestBatch(tuple[Request, ...]):  # noqa: SLOT001 - a tuple cannot have slots with values
    """Requests whose answers a policy waits for.

    `ahead` are requests that it will wait for later, whatever these answers are: they may start now, and need not.
    """

    ahead: tuple[Request, ...]

    def __new__(cls, awaited: Iterable[Request], *, ahead: Iterable[Request] = ()) -> Self:
        """A batch is the tuple of the awaited requests."""
        batch = super().__new__(cls, awaited)
        batch.ahead = tuple(ahead)
        return batch


RequestScores = Mapping[Request, float | None]
"""Scores of finished requests. None means missing: the infrastructure failed in every attempt."""
