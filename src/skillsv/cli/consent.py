"""Asks a person before something is spent, removed or trusted."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from skillsv.cli.printing import say
from skillsv.errors import SettingsError
from skillsv.report.escape import escape_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The words of a question on the terminal, and of the errors where nobody can answer or the answer is no."""

    text: str = "Go on?"
    unanswered: str = "nobody is there to agree to this cost."
    unanswered_hint: str = "Add --yes, or a limit such as --max-rollouts 500."
    declined: str = "nothing was spent."
    declined_hint: str = "Answer y to go on, or give --yes."


def agree(lines: Iterable[str], *, yes: bool, question: Question | None = None) -> None:
    """Print on stderr what is about to be done. Without `yes`, ask; raise SettingsError unless the answer is yes."""
    question = question or Question()
    for line in lines:
        say(line)
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError(question.unanswered, hint=question.unanswered_hint)
    print(escape_text(f"{question.text} [y/N] "), end="", file=sys.stderr, flush=True)
    if input().strip().lower() not in {"y", "yes"}:
        raise SettingsError(question.declined, hint=question.declined_hint)
