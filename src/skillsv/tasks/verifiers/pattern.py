"""The verifier `regex`: the pattern occurs in the answer. A pattern that would search for ever is stopped."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.process import Limits, run_program
from skillsv.tasks.verifiers import match
from skillsv.tasks.verifiers.scoring import Scorer

_LIMITS = Limits(seconds=10.0, output_bytes=1024, memory_bytes=1024**3)
_SHORT = 4000
_REPEAT = re.compile(r"(?<![\\(])(?:\\\\)*[*+{?]")
_REPEATED_GROUP = re.compile(r"\)[*+{?]")
_VERBOSE = re.compile(r"\(\?[a-z]*x")


def regex(target: Any) -> Scorer:
    """The pattern (or one of a list) occurs in the answer, as Python's `re.search` finds it: case counts unless `(?i)`.

    A pattern with at most one repetition is matched here. Any other may take time exponential in the answer, and a
    search cannot be interrupted inside a process; so it runs in a process of its own for at most ten seconds.
    """
    patterns = target if isinstance(target, list) else [target]
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern:
            raise ValueError("the target must be a regular expression, or a list of them")
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"the regular expression {pattern!r} is broken: {error}") from error

    async def score(_task: Task, outcome: Outcome, workspace: Path) -> float:
        for pattern in patterns:
            if await _search(pattern, outcome.answer, workspace):
                return 1.0
        return 0.0

    return score


async def _search(pattern: str, text: str, workspace: Path) -> bool:
    if surely_quick(pattern) and len(text) <= _SHORT:
        return match.matches(pattern, text)
    return await _search_apart(pattern, text, workspace)


def surely_quick(pattern: str) -> bool:
    """Whether a search is at worst quadratic: at most one repetition, and not of a group. In doubt, no."""
    if _VERBOSE.search(pattern):  # white space may stand between a group and its repetition
        return False
    return len(_REPEAT.findall(pattern)) <= 1 and not _REPEATED_GROUP.search(pattern)


async def _search_apart(pattern: str, text: str, workspace: Path) -> bool:
    done = await run_program(
        [sys.executable, "-I", "-S", match.__file__],
        cwd=workspace,
        env={},
        stdin=msgspec.json.encode({"pattern": pattern, "text": text}),
        limits=_LIMITS,
    )
    if done.timed_out:
        raise VerifierFailure(
            f"The regular expression {pattern[:80]!r} did not finish within {_LIMITS.seconds:g} s on this answer;"
            " nested repetitions take exponential time."
        )
    if done.code != 0 or done.stdout not in {b"0", b"1"}:
        raise VerifierFailure(f"The regular expression {pattern[:80]!r} could not be searched (exit {done.code}).")
    return done.stdout == b"1"
