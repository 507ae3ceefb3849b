"""What happens during a run, as typed values that a progress line, a log or a dashboard can follow."""

from __future__ import annotations

from dataclasses import dataclass

from skillsv.model.rollout import FailureKind, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run begins: how many chains (0 where the method knows none) and rollouts are expected."""

    run: str
    chains: int
    expected_rollouts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFinished:
    """One rollout has a score, or is missing for good. `reused`: it came from the ledger and cost nothing."""

    task: str
    tree: str
    why: str
    score: float | None
    reused: bool
    usage: Usage
    duration: float
    failure: FailureKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRetried:
    """An attempt failed; another follows after `wait` seconds."""

    task: str
    attempt: int
    kind: FailureKind
    message: str
    wait: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFinished:
    """A chain is complete."""

    index: int
    evaluated: int
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something a person should read: activation, noise, slowing down."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The run ended: `reason` is done, budget, interrupted or unavailable."""

    reason: str


Event = RunStarted | RolloutFinished | RolloutRetried | ChainFinished | Note | RunFinished
