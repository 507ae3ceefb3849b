"""Verifiers that compare text: `exact`, `contains`, `choice`."""

from __future__ import annotations

import json
import math
import re
import sys
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


# The verifier `numeric`: the last number of the answer against the target.

_NUMBER = re.compile(r"(?<![\w.])[-+−]?[$€£]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:\.\d+|(?<=\d))(?:[eE][-+]?\d+)?")


def numeric(target: Any, tolerance: str = "") -> Check:
    """The last number in the answer equals the target within the tolerance.

    `numeric` allows a millionth of the target (for rounding in print), `numeric:0.5` half a unit, `numeric:2%` two
    percent of the target. Thousands separators, currency signs and a percent sign after the number are read over.
    """
    wanted = [_value(value) for value in (target if isinstance(target, list) else [target])]
    absolute, relative = _tolerance(tolerance)

    def check(answer: str) -> bool:
        found = last_number(answer)
        return found is not None and any(
            math.isclose(found, value, rel_tol=relative, abs_tol=absolute) for value in wanted
        )

    return check


def _value(value: Any) -> float:
    number = last_number(value) if isinstance(value, str) else value
    largest = sys.float_info.max  # NaN is not below it, and an integer above it would not become a float
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not abs(number) <= largest:
        raise ValueError(f"the target {str(value)[:60]} is not a number to compare with")
    return float(number)


def _tolerance(text: str) -> tuple[float, float]:
    """The absolute and the relative tolerance."""
    if not text:
        return 1e-9, 1e-6
    number = float(text.removesuffix("%"))
    if not 0 <= number < math.inf:
        raise ValueError(f"the tolerance {text!r} is not a number of at least 0")
    return (1e-9, number / 100) if text.endswith("%") else (number, 0.0)


def last_number(text: str) -> float | None:
    """The last number written in a text, None if there is none."""
    found = [match.group() for match in _NUMBER.finditer(text[-_LAST_WORDS:])]
    if not found:
        return None
    number = float(re.sub(r"[,$€£]", "", found[-1]).replace("−", "-"))
    return number if math.isfinite(number) else None


# The verifier `json`: the answer's JSON value against the target.

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_NOTHING = object()


def json_equal(target: Any) -> Check:
    """The answer holds a JSON value equal to the target: key order aside, numbers by value, true is not 1.

    The value is the whole answer, else the last fenced block, else the first object or list in the text.
    """
    return lambda answer: _same(_structured_value(answer), target)


def _structured_value(answer: str) -> Any:
    for text in (answer, *reversed(_FENCE.findall(answer))):
        value = _decode(text.strip())
        if value is not _NOTHING:
            return value
    start = re.search(r"[\[{]", answer)
    return _decode(answer[start.start() :], whole=False) if start else _NOTHING


def _decode(text: str, *, whole: bool = True) -> Any:
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return _NOTHING
    return _NOTHING if whole and end != len(text) else value


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and bool(left == right)
