"""Events of a run, one type per kind, for listeners such as a progress line or a log."""

from __future__ import annotations

from dataclasses import dataclass

from skillsv.model.rollout import FailureKind, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run started. `chains` is 0 for a method without chains."""

    run: str
    chains: int
    expected_rollouts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStarted:
    """The next of several agents that run one after another starts: what is counted is about this one."""

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFinished:
    """One rollout ended: with a score, or with a `failure` after the last attempt.

    `reused`: the score came from the ledger and cost nothing. `tree` is the digest of the rendering, `why` the reason
    for the request, `duration` in seconds, `agent` the fingerprint of the agent; `replicate` tells repeats apart.
    """

    task: str
    tree: str
    why: str
    score: float | None
    reused: bool
    usage: Usage
    duration: float
    failure: FailureKind | None = None
    agent: str = ""
    replicate: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRetried:
    """An attempt failed. The next one follows after `wait` seconds."""

    task: str
    attempt: int
    kind: FailureKind
    message: str
    wait: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFinished:
    """A chain is complete. `evaluated` counts its evaluated prefixes."""

    index: int
    evaluated: int
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsDecided:
    """What an adaptive run has learned so far: `decided` of its `units` have a verdict."""

    decided: int
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A message for the user, for example about activation, noise or rate limits."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The run ended. `reason` is `done`, or the message of the error that ended it."""

    reason: str


Event = RunStarted | AgentStarted | RolloutFinished | RolloutRetried | ChainFinished | UnitsDecided | Note | RunFinished
