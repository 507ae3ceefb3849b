"""The result of looking at one piece of code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+")
"""CONSTANT_CASE: such a name is meant to be known elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """Names with the line (0-based, in the code) that defines them.

    `names` are meant for others: functions, classes, constants. `variables` serve only the blocks right after.
    `modules` are what the code imports, as written, with lines.
    """

    names: Mapping[str, int] = field(default_factory=dict)
    variables: Mapping[str, int] = field(default_factory=dict)
    modules: tuple[tuple[str, int], ...] = ()


def first_lines(code: str, names: set[str]) -> dict[str, int]:
    """The first line (0-based) on which each name stands as a word."""
    found: dict[str, int] = {}
    for number, line in enumerate(code.split("\n")):
        for word in re.findall(r"\w+", line):
            if word in names:
                found.setdefault(word, number)
    return found
