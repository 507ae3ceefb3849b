"""The verifier `regex`: a regular expression occurs in the answer. A search that takes too long is ended."""

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
from skillsv.tasks.verifiers import regex_program
from skillsv.tasks.verifiers.scorer import Scorer

_LIMITS = Limits(seconds=10.0, output_bytes=1024, memory_bytes=1024**3)
"""For a search in a process of its own."""

_SHORT_ANSWER = 4000
"""Characters. In a longer answer, even a search of quadratic time may take too long for this process."""

_REPEAT = re.compile(r"(?<![\\(])(?:\\\\)*[*+{?]")
_REPEATED_GROUP = re.compile(r"\)[*+{?]")
_VERBOSE = re.compile(r"\(\?[a-z]*x")


def regex(target: Any) -> Scorer:
    """The pattern (or one of a list) occurs in the answer, as with Python's `re.search`. Case matters without `(?i)`.

    A pattern with at most one repetition is searched in this process. Any other may take exponential time, and Python
    cannot interrupt a search; so it runs in a process of its own for at most ten seconds.
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
    if is_fast(pattern) and len(text) <= _SHORT_ANSWER:
        return regex_program.matches(pattern, text)
    return await _search_in_process(pattern, text, workspace)


def is_fast(pattern: str) -> bool:
    """Whether a search takes at most quadratic time: at most one repetition, and not of a group. In doubt, False."""
    if _VERBOSE.search(pattern):  # white space may separate a group from its repetition
        return False
    return len(_REPEAT.findall(pattern)) <= 1 and not _REPEATED_GROUP.search(pattern)


async def _search_in_process(pattern: str, text: str, workspace: Path) -> bool:
    done = await run_program(
        [sys.executable, "-I", "-S", regex_program.__file__],
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
