"""The verifier `numeric`: the last number of the answer against the target."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

from skillsv.tasks.verifiers.scoring import Check

_NUMBER = re.compile(r"(?<![\w.])[-+−]?[$€£]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:\.\d+|(?<=\d))(?:[eE][-+]?\d+)?")
_LAST_WORDS = 4000


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
