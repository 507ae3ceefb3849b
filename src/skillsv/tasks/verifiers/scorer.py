"""The type of all verifiers (`Scorer`), and the check that a score is a number from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.redaction import redact

Scorer = Callable[[Task, Outcome, Path], Awaitable[Any]]
"""Scores one outcome; the path is the workspace. `check_score` checks what it returns."""

Check = Callable[[str], bool]
"""Whether an answer is right, for one target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierOptions:
    """What verifiers that run programs need to know.

    `folder` is the folder of the tasks. `sandbox`: programs that a task brings run in the sandbox. `sandbox_commands`:
    `command:` verifiers do, too, with the network. `container` is the container program that is the sandbox (empty:
    bubblewrap). `network`: programs of a task may use the network where their task asks for it.
    """

    folder: Path
    sandbox: bool = True
    sandbox_commands: bool = False
    container: str = ""
    network: bool = False


def check_score(value: Any, verifier: str) -> float:
    """The score as a number in [0, 1]. Raises VerifierFailure for anything else: it must not count as a zero."""
    try:
        score = float(value) if not isinstance(value, str) else math.nan
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if not 0.0 <= score <= 1.0:
        raise VerifierFailure(f"{verifier} returned {_shorten(value)} instead of a score from 0 to 1.")
    return score


def scorer_of(check: Check) -> Scorer:
    """A scorer that gives 1 if the check accepts the text of the answer, else 0."""

    async def score(_task: Task, outcome: Outcome, _workspace: Path) -> float:
        return float(check(outcome.answer))

    return score


def as_text(value: Any) -> str:
    """A target as an answer would write it. True and False become `true` and `false`, as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _shorten(value: Any) -> str:
    text = redact(repr(value))
    return text if len(text) <= 60 else f"{text[:60]}..."
