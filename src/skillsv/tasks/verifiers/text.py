"""Verifiers that compare text: `exact`, `contains`, `choice`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from skillsv.tasks.verifiers.scoring import Check, as_text

_PUNCTUATION = " \t\r\n.,;:!?()[]{}*_`\"'$\\"
_LAST_WORDS = 4000
_STATED = re.compile(r"(?:answer|choice|option)\W{0,12}(?:is\W{0,12})?([A-Za-z])(?![A-Za-z0-9])", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{\W{0,8}(?:\\text\{)?\W{0,4}([A-Za-z])\W{0,8}\}")
_BRACKETED = re.compile(r"(?:^|\s)\(?([A-Z])[).:](?=\s|$)|\(([A-Z])\)", re.MULTILINE)


def exact(target: Any) -> Check:
    """The answer is the target (or one of a list of targets), spaces around it aside. Case counts."""
    accepted = {as_text(value).strip() for value in _accepted(target)}
    return lambda answer: answer.strip() in accepted


def contains(target: Any) -> Check:
    """The answer contains the target, or one of a list; case and runs of white space aside.

    An object asks for more: `{"all": [...], "any": [...], "none": [...]}`, each part optional.
    """
    parts = target if isinstance(target, dict) else {"any": _accepted(target)}
    if not parts or set(parts) - {"all", "any", "none"}:
        raise ValueError('`contains` takes a text, a list, or {"all": [...], "any": [...], "none": [...]}')
    every, some, never = (_folded(parts.get(name, [])) for name in ("all", "any", "none"))

    def check(answer: str) -> bool:
        text = _fold(answer)
        return (
            all(word in text for word in every)
            and (not some or any(word in text for word in some))
            and not any(word in text for word in never)
        )

    return check


def choice(target: Any) -> Check:
    """The answer picks the target's letter: a boxed or stated one (`Answer: B`), else the last `(B)` or `B.`, else all
    of the answer. A target longer than a letter has to be the whole answer, case and punctuation aside.
    """
    wanted = {_bare(as_text(value)) for value in _accepted(target)}
    return lambda answer: _picked(answer) in wanted or _bare(answer) in wanted


def _picked(answer: str) -> str | None:
    """The letter an answer settles on; the last one where it says several."""
    text = answer[-_LAST_WORDS:]
    for pattern in (_BOXED, _STATED, _BRACKETED):
        found = [next(filter(None, match.groups())) for match in pattern.finditer(text)]
        if found:
            return _bare(found[-1])
    return None


def _bare(text: str) -> str:
    return text.strip(_PUNCTUATION).casefold()


def _accepted(target: Any) -> Sequence[Any]:
    """The targets, of which one suffices."""
    values = target if isinstance(target, list) else [target]
    if not values or any(value is None or isinstance(value, (dict, list)) or as_text(value) == "" for value in values):
        raise ValueError("the target must be a text, a number, or a list of them, and not empty")
    return values


def _folded(values: Any) -> list[str]:
    return [_fold(as_text(value)) for value in _accepted(values)] if values else []


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
