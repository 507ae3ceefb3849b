"""The table of verifiers: the name in a specification, and the function that makes the scorer.

To add a verifier, write a function that returns a `Scorer` (see `scorer.py`) and add one row:

- to `TARGET_VERIFIERS` if it compares the answer with the task's target (see `comparisons.py`); it also receives the
  text after the colon of `NAME:ARGUMENT`;
- to `EXTERNAL_VERIFIERS` if the score comes from a program, a function or an evaluator (see `external.py`).

The verifier `judge` is not in a table, because it also needs an agent: `make.py` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skillsv.tasks.verifiers.combined import all_of
from skillsv.tasks.verifiers.comparisons import choice, contains, exact, json_equal, numeric
from skillsv.tasks.verifiers.external import command_verifier, inspect_score, python_verifier
from skillsv.tasks.verifiers.harbor import harbor
from skillsv.tasks.verifiers.regex import regex
from skillsv.tasks.verifiers.scorer import Scorer, VerifierOptions, scorer_of
from skillsv.tasks.verifiers.specs import split_spec


def _make_part(spec: str, target: Any) -> Scorer:
    """The scorer of one part of `all`. Raises ValueError where the specification is no comparison with a target."""
    scheme, argument = split_spec(spec)
    if scheme == "all" or scheme not in TARGET_VERIFIERS:
        raise ValueError(f"`{spec}` cannot be a part of `all`, which joins verifiers that compare with a target")
    if target is None:
        raise ValueError(f"the part `{spec}` has no target")
    return TARGET_VERIFIERS[scheme](target, argument)


TARGET_VERIFIERS: Mapping[str, Callable[[Any, str], Scorer]] = {
    "exact": lambda target, _argument: scorer_of(exact(target)),
    "contains": lambda target, _argument: scorer_of(contains(target)),
    "regex": lambda target, _argument: regex(target),
    "numeric": lambda target, argument: scorer_of(numeric(target, argument)),
    "choice": lambda target, _argument: scorer_of(choice(target)),
    "json": lambda target, _argument: scorer_of(json_equal(target)),
    "all": lambda target, _argument: all_of(target, _make_part),
}
"""Verifiers that compare an answer with the task's target. Each task has its own scorer. They run no foreign code."""

EXTERNAL_VERIFIERS: Mapping[str, Callable[[str, VerifierOptions], Scorer]] = {
    "python": python_verifier,
    "command": command_verifier,
    "harbor": harbor,
    "inspect": lambda argument, _options: inspect_score(argument),
}
"""Verifiers whose score comes from a program, a function or an evaluator. All tasks with the same specification share
one scorer."""

KNOWN_SPECS = (*TARGET_VERIFIERS, "python:FILE.py:function", "command:PROGRAM ...", "judge", "inspect")
"""The specifications that a user may write, for the message about an unknown one."""

_KNOWN = frozenset({*TARGET_VERIFIERS, *EXTERNAL_VERIFIERS, "judge", "function"})
"""The names of all verifiers. `function` stands for a function that a Python program passes."""

_HARMLESS = frozenset({"", *TARGET_VERIFIERS, "inspect"})
"""Verifiers that run no program and call no model. `inspect` only reads a score that the agent already has."""


def is_known(spec: str) -> bool:
    """Whether there is a verifier of this name; nothing is said about its argument."""
    return split_spec(spec)[0] in _KNOWN


def compares_with_target(spec: str) -> bool:
    """Whether a verifier compares the answer with the task's target by itself: it cannot understand prose."""
    return split_spec(spec)[0] in TARGET_VERIFIERS


def runs_code(spec: str) -> bool:
    """Whether a verifier runs a program or calls a model that the specification itself names.

    The plain `judge` does not: the user names its model.
    """
    scheme, argument = split_spec(spec)
    return scheme not in _HARMLESS and not (scheme == "judge" and not argument.strip())
