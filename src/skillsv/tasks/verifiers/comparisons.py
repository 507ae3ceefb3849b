"""Verifiers that compare an answer with the task's target: `exact`, `contains`, `choice`, `numeric`, `json`.

Each function takes the target and returns a check of the answer. Raises ValueError for a target that it cannot use.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Sequence
from typing import Any

from skillsv.tasks.verifiers.scorer import Check, as_text

_PUNCTUATION = " \t\r\n.,;:!?()[]{}*_`\"'$\\"
"""Characters around an answer that do not count."""

_LAST_CHARACTERS = 4000
"""A letter or number is searched in this many characters at the end of the answer: long answers state it there."""

_STATED = re.compile(r"(?:answer|choice|option)\W{0,12}(?:is\W{0,12})?([A-Za-z])(?![A-Za-z0-9])", re.IGNORECASE)
"""A letter that the answer states: `Answer: B`, `the correct option is (B)`."""

_BOXED = re.compile(r"\\boxed\{\W{0,8}(?:\\text\{)?\W{0,4}([A-Za-z])\W{0,8}\}")
"""A letter in LaTeX's box."""

_BRACKETED = re.compile(r"(?:^|\s)\(?([A-Z])[).:](?=\s|$)|\(([A-Z])\)", re.MULTILINE)
"""A letter with a bracket or a full stop: `(B)`, `B)`, `B.`"""

_NUMBER = re.compile(r"(?<![\w.])[-+−]?[$€£]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:\.\d+|(?<=\d))(?:[eE][-+]?\d+)?")
"""A number, with thousands separators, a sign and a currency sign if there are any."""

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
"""A fenced block of Markdown."""

_NOTHING = object()
"""Stands for an answer without a JSON value, because None is the JSON value null."""


def exact(target: Any) -> Check:
    """The answer equals the target (or one of a list). White space around it is ignored, case is not."""
    accepted = {as_text(value).strip() for value in _accepted(target)}
    return lambda answer: answer.strip() in accepted


def contains(target: Any) -> Check:
    """The answer contains the target, or one of a list. Case and the amount of white space are ignored.

    An object requires more: `{"all": [...], "any": [...], "none": [...]}`; each part is optional.
    """
    parts = target if isinstance(target, dict) else {"any": _accepted(target)}
    if not parts or set(parts) - {"all", "any", "none"}:
        raise ValueError('`contains` takes a text, a list, or {"all": [...], "any": [...], "none": [...]}')
    required, alternatives, forbidden = (_folded(parts.get(name, [])) for name in ("all", "any", "none"))

    def check(answer: str) -> bool:
        text = _fold(answer)
        return (
            all(word in text for word in required)
            and (not alternatives or any(word in text for word in alternatives))
            and not any(word in text for word in forbidden)
        )

    return check


def choice(target: Any) -> Check:
    """The answer chooses the letter of the target.

    The chosen letter is a boxed or stated one (`Answer: B`), else the last `(B)` or `B.`, else the answer itself. A
    target longer than a letter must equal the answer. Case and punctuation around it are ignored.
    """
    accepted = {_strip(as_text(value)) for value in _accepted(target)}
    return lambda answer: _chosen_letter(answer) in accepted or _strip(answer) in accepted


def numeric(target: Any, tolerance: str = "") -> Check:
    """The last number in the answer equals the target within the tolerance.

    `numeric` allows a millionth of the target (printed numbers are rounded), `numeric:0.5` a difference of 0.5,
    `numeric:2%` two percent of the target. Thousands separators, currency signs and a percent sign are ignored.
    """
    accepted = [_number_in_target(value) for value in (target if isinstance(target, list) else [target])]
    absolute, relative = _tolerance(tolerance)

    def check(answer: str) -> bool:
        number = _last_number(answer)
        return number is not None and any(
            math.isclose(number, value, rel_tol=relative, abs_tol=absolute) for value in accepted
        )

    return check


def json_equal(target: Any) -> Check:
    """The answer contains a JSON value that equals the target. 1 equals 1.0 but not true; key order is ignored.

    The value is the complete answer, else the last fenced block, else the first object or list in the text.
    """
    return lambda answer: _is_equal(_json_value(answer), target)


def _chosen_letter(answer: str) -> str | None:
    """The letter that an answer chooses; the last one if there are several."""
    text = answer[-_LAST_CHARACTERS:]
    for pattern in (_BOXED, _STATED, _BRACKETED):
        letters = [next(filter(None, match.groups())) for match in pattern.finditer(text)]
        if letters:
            return _strip(letters[-1])
    return None


def _strip(text: str) -> str:
    return text.strip(_PUNCTUATION).casefold()


def _accepted(target: Any) -> Sequence[Any]:
    """The list of accepted targets. Raises ValueError if it is empty or a target cannot be compared as text."""
    values = target if isinstance(target, list) else [target]
    if not values or any(value is None or isinstance(value, (dict, list)) or as_text(value) == "" for value in values):
        raise ValueError("the target must be a text, a number, or a list of them, and not empty")
    return values


def _folded(values: Any) -> list[str]:
    return [_fold(as_text(value)) for value in _accepted(values)] if values else []


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _number_in_target(value: Any) -> float:
    number = _last_number(value) if isinstance(value, str) else value
    largest = sys.float_info.max  # refuses NaN, infinity, and integers that are too large for a float
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


def _last_number(text: str) -> float | None:
    """The last number in a text, None if there is none."""
    numbers = [match.group() for match in _NUMBER.finditer(text[-_LAST_CHARACTERS:])]
    if not numbers:
        return None
    number = float(re.sub(r"[,$€£]", "", numbers[-1]).replace("−", "-"))
    return number if math.isfinite(number) else None


def _json_value(answer: str) -> Any:
    for text in (answer, *reversed(_FENCE.findall(answer))):
        value = _decode(text.strip())
        if value is not _NOTHING:
            return value
    start = re.search(r"[\[{]", answer)
    return _decode(answer[start.start() :], complete=False) if start else _NOTHING


def _decode(text: str, *, complete: bool = True) -> Any:
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return _NOTHING
    return _NOTHING if complete and end != len(text) else value


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    return type(left) is type(right) and bool(left == right)
