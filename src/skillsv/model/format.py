"""Numbers as people read them: points of score, intervals, percent, counts, tokens, money, durations, file sizes.

Every sentence, table and drawing for people takes its numbers from here, so that one amount looks the same on the
page, in the terminal and in the reason of a verdict. The minus sign is U+2212. JSON and CSV do not use this module:
they hold plain numbers. A setting that a message repeats is written as the user gave it (`{timeout:g} s`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from skillsv.model.rollout import Usage

MINUS = "\N{MINUS SIGN}"
"""The minus sign of all text for people."""

UNKNOWN = "–"
"""What stands in a table where a number is missing or not finite."""


class ValueWithBounds(Protocol):
    """An estimated share of the score with the two ends of its interval, such as `skillsv.model.value.Interval`."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


def decimal(value: float | None, *, digits: int, signed: bool = False) -> str:
    """A number with so many decimals; `signed` writes a plus sign too. Zero has no sign."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    rounded = round(value, digits) + 0.0  # the sum turns -0.0 into 0.0
    return f"{rounded:{'+' if signed and rounded else ''}.{digits}f}".replace("-", MINUS)


def short_number(value: float) -> str:
    """A number with as few digits as it needs, at most four: 2, 0.5, 99.9."""
    return f"{value:.4g}".replace("-", MINUS)


def points(value: float | None, *, signed: bool = True, digits: int = 1) -> str:
    """A share of the score as points of a hundred: 0.123 is +12.3."""
    return decimal(None if value is None else 100 * value, digits=digits, signed=signed)


def short_points(share: float) -> str:
    """A threshold in points, as short as it can be written: 0.02 is 2."""
    return short_number(100 * share)


def bounds(interval: ValueWithBounds, *, signed: bool = True) -> str:
    """The two ends of an interval in points."""
    return f"[{points(interval.low, signed=signed)}, {points(interval.high, signed=signed)}]"


def with_bounds(interval: ValueWithBounds, *, signed: bool = True) -> str:
    """A value in points with its interval: `+12.3 [+8.0, +16.6]`; an interval of no width is not written."""
    value = points(interval.value, signed=signed)
    return f"{value} {bounds(interval, signed=signed)}" if has_width(interval) else value


def has_width(interval: ValueWithBounds) -> bool:
    """Whether the ends of the interval, as they are written, differ from its value."""
    return {points(interval.low), points(interval.high)} != {points(interval.value)}


def task_score(score: float) -> str:
    """The score of one rollout, a share in [0, 1] with at most two digits: 1, 0.5, 0.33."""
    return f"{score:.2g}"


def percent(share: float) -> str:
    """A share as whole percent: 0.31 is 31%."""
    return f"{share:.0%}".replace("-", MINUS)


def count(number: int) -> str:
    """A whole number with its thousands apart: 2,304."""
    return f"{number:,}".replace("-", MINUS)


def plural(number: int, noun: str) -> str:
    """A count with its noun: 1 unit, 2,304 rollouts."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def money(usd: float, *, digits: int = 2) -> str:
    """An amount of US dollars: $3.18. The price of one rollout needs more than two `digits`."""
    return f"${usd:,.{digits}f}"


def usage_parts(usage: Usage) -> list[str]:
    """Tokens and money, as far as they are known: `["1,935,360 tokens", "$3.18"]`."""
    tokens = [number for number in (usage.input_tokens, usage.output_tokens) if number is not None]
    parts = [plural(sum(tokens), "token")] if tokens else []
    return [*parts, money(usage.usd)] if usage.usd is not None else parts


def duration(seconds: float) -> str:
    """A time as a person says it: 40 s, 12 min, 3 h 5 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def file_size(size: int) -> str:
    """A number of bytes as a person says it: 812 bytes, 17.6 kB."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{size} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
