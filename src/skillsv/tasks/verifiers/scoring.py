"""What every verifier is made of, and the check that a score is one."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task

Scorer = Callable[[Task, Outcome, Path], Awaitable[Any]]
"""Scores one outcome; what it returns is checked before anyone believes it."""

Check = Callable[[str], bool]
"""Whether an answer is right, for one target."""


def checked_score(value: Any, who: str) -> float:
    """The score as a number in [0, 1]; anything else is a failure of the verifier, not a zero."""
    try:
        score = float(value) if not isinstance(value, str) else math.nan
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if not 0.0 <= score <= 1.0:
        raise VerifierFailure(f"{who} returned {_shown(value)} instead of a score from 0 to 1.")
    return score


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def scorer_of(check: Check) -> Scorer:
    """A scorer from a yes-or-no check of the answer's text."""

    async def score(_task: Task, outcome: Outcome, _workspace: Path) -> float:
        return float(check(outcome.answer))

    return score


def as_text(value: Any) -> str:
    """A target as the text an answer would have: true, 42, 2.5 as JSON writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


# The verifier `inspect`: the score that an agent with a scorer of its own was given, a task of Inspect.


def own_score(name: str) -> Scorer:
    """Reads the score called `name` (`inspect:match`, or `inspect:match.part`), the first one if there is no name."""

    async def score(_task: Task, outcome: Outcome, _workspace: Path) -> float:
        if not outcome.scores:
            raise VerifierFailure(
                "The agent brought no score of its own; the verifier `inspect` needs --agent inspect:FILE.py@task, "
                "and a scorer that gives numbers."
            )
        chosen = name or next(iter(outcome.scores))
        if chosen not in outcome.scores:
            raise VerifierFailure(f"There is no score `{chosen}`; there are: {', '.join(outcome.scores)}.")
        return outcome.scores[chosen]

    return score
