"""Placeholders that only some hosts fill in; any other agent reads them as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillsv.compile.lint.subject import Remark, Subject

_ARGUMENTS = re.compile(r"\$ARGUMENTS\b(?:\[\d+\])?")
_COMMAND = re.compile(r"(?:^|(?<=[\s:(>*-]))!`[^`\n]+`")


def arguments(subject: Subject) -> Iterator[Remark]:
    """`$ARGUMENTS` in the body."""
    main = subject.main
    for index in range(main.body_start, len(main.lines)):
        match = _ARGUMENTS.search(main.lines[index])
        if match:
            words = f"'{match[0]}' is filled in by some hosts only. Say in words what the skill is given."
            yield Remark(words, main.path, index + 1)


def commands(subject: Subject) -> Iterator[Remark]:
    """A command in the form !`cmd` that a host runs before the model reads the skill."""
    main = subject.main
    for number, line in main.prose:
        match = _COMMAND.search(line)
        if match:
            words = f"{match[0][:60]} is run by some hosts only, before the skill is read. Tell the agent to run it."
            yield Remark(words, main.path, number)
