"""The verifier `json`: the answer's JSON value against the target."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from skillsv.tasks.verifiers.scoring import Check

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_NOTHING = object()


def json_equal(target: Any) -> Check:
    """The answer holds a JSON value equal to the target: key order aside, numbers by value, true is not 1.

    The value is the whole answer, else the last fenced block, else the first object or list in the text.
    """
    return lambda answer: _same(_value(answer), target)


def _value(answer: str) -> Any:
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
