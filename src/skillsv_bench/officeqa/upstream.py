"""Upstream's own rules for right answers: numbers within a relative tolerance, units that agree, lists in order.

An answer must be direct: one line, as many numbers as the gold has, no prose around a text. Years that an answer names
beside its number are passed over, unless the gold is a year or has words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

MAX_ANSWER_CHARACTERS = 250
_UNIT_DISTANCE = 20  # characters on either side of a number in which its unit may stand

_FINAL = re.compile(r"<FINAL_ANSWER>(.*?)</FINAL_ANSWER>", re.DOTALL | re.IGNORECASE)
_MARKUP = re.compile(r"<[^>]*>")
_CURRENCY = "$£€¥₹¢₩₽"
_BODY = r"\d{1,3}(?:,\d{3})*(?:\.\d+)?|\d+(?:\.\d+)?"
_IN_PARENTHESES = re.compile(rf"\(\s*([{_CURRENCY}])?\s*({_BODY})\s*\)")
_SYMBOL = re.compile(rf"[{_CURRENCY}]")
_WITH_COMMAS = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)")
_NUMBER = re.compile(r"-?\d+\.?\d*%?")
_LIST_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?%?")
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_UNITS = {
    "trillion": re.compile(r"\btrillions?\b"),
    "billion": re.compile(r"\b(billions?|b)\b"),
    "million": re.compile(r"\b(millions?|m)\b"),
    "thousand": re.compile(r"\b(thousands?|k)\b"),
}
_UNIT_WORDS = re.compile(r"\b(trillions?|billions?|millions?|thousands?|hundreds?|percent|percentage|%)\b")


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written, and the unit word near it."""

    value: float
    unit: str | None = None

    @property
    def year(self) -> bool:
        """Whether it looks like a year."""
        return 1900 <= self.value <= 2100 and self.value == int(self.value)

    def fits(self, other: Number, tolerance: float) -> bool:
        """Whether the other says the same: units agree or one is absent, values differ by no more than the share."""
        if self.unit is not None and other.unit is not None and self.unit != other.unit:
            return False
        return _close(self.value, other.value, tolerance)


def final_answer(text: str) -> str | None:
    """What stands in the last tags FINAL_ANSWER; None where there are none."""
    found = _FINAL.findall(text)
    return str(found[-1]).strip() if found else None


def upstream_score(gold: str, text: str, tolerance: float = 0.0) -> float:
    """1 if the answer in the text (or the whole text, where there are no tags) is right, else 0."""
    tagged = final_answer(text)
    answer = (text if tagged is None else tagged).strip()
    lines = [line for line in answer.splitlines() if line.strip()]
    if not gold or len(lines) != 1 or len(answer) > MAX_ANSWER_CHARACTERS or "unable to determine" in answer.lower():
        return 0.0
    wanted, given = numbers(gold), numbers(answer)
    if not wanted:
        return float(not given and _plain(gold) == _plain(answer))
    if _MARKUP.search(answer):
        return 0.0
    return float(_right(gold, answer, wanted, _without_years(gold, wanted, given), tolerance))


def numbers(text: str) -> list[Number]:
    """The numbers of a text in their order: U+2212 and parentheses make them negative, symbols of money are nothing."""
    clean = _WITH_COMMAS.sub(lambda found: found.group().replace(",", ""), _accounted(_spaced(text)))
    return [
        Number(
            float(found.group().rstrip("%")),
            _unit(clean[max(0, found.start() - _UNIT_DISTANCE) : found.end() + _UNIT_DISTANCE]),
        )
        for found in _NUMBER.finditer(clean)
    ]


def _right(gold: str, answer: str, wanted: Sequence[Number], given: Sequence[Number], tolerance: float) -> bool:
    same_count = len(given) == len(wanted)
    if _is_list(gold, wanted):
        if _splits(answer, [partial(_close, one.value, tolerance=tolerance) for one in wanted]):
            return True
        return same_count and all(one.fits(other, tolerance) for one, other in zip(wanted, given, strict=True))
    found = all(any(one.fits(other, tolerance) for other in given) for one in wanted)
    return same_count and found and _words_agree(gold, answer)


def _without_years(gold: str, wanted: Sequence[Number], given: Sequence[Number]) -> list[Number]:
    """The numbers of an answer without the years it names in passing."""
    meant = any(one.year for one in wanted) or (len(wanted) == 1 and len(_words(gold)) >= 2)
    return [number for number in given if meant or not number.year]


def _is_list(gold: str, wanted: Sequence[Number]) -> bool:
    """Whether the gold is one list in brackets and nothing but numbers is in it."""
    exactly = [partial(_close, one.value, tolerance=0.0) for one in wanted]
    return len(wanted) > 1 and _in_brackets(gold) is not None and _splits(gold, exactly)


def _splits(text: str, fits: Sequence[Callable[[float], bool]]) -> bool:
    """Whether a list with commas can be cut into numbers that fit one after the other.

    `8,152,260` may be one number or up to three: each comma may stand between items or between thousands.
    """
    body = _in_brackets(text) or _spaced(text)
    chunks = body.split(",")

    @cache
    def rest(first: int, place: int) -> bool:
        if place == len(fits):
            return first == len(chunks)
        ends = range(first + 1, len(chunks) - (len(fits) - place - 1) + 1)
        return any(_item_fits(",".join(chunks[first:end]), fits[place]) and rest(end, place + 1) for end in ends)

    return rest(0, 0)


def _item_fits(item: str, fits: Callable[[float], bool]) -> bool:
    item = item.strip()
    if not item or re.search(r"\s,|,\s", item):
        return False
    clean = _accounted(_spaced(item))
    return _LIST_NUMBER.fullmatch(clean) is not None and fits(float(clean.rstrip("%").replace(",", "")))


def _in_brackets(text: str) -> str | None:
    """What stands in the only brackets of a text that has no digits outside of them."""
    clean = _spaced(text)
    found = list(_BRACKETS.finditer(clean))
    if len(found) != 1 or re.search(r"\d", clean[: found[0].start()] + clean[found[0].end() :]):
        return None
    return found[0].group(1)


def _close(gold: float, value: float, tolerance: float) -> bool:
    return value == 0 if gold == 0 else abs(gold - value) / abs(gold) <= tolerance


def _unit(around: str) -> str | None:
    return next((name for name, words in _UNITS.items() if words.search(around.lower())), None)


def _spaced(text: str) -> str:
    return " ".join(text.replace("\N{MINUS SIGN}", "-").split())


def _accounted(text: str) -> str:
    """(1,234) becomes -1,234, but a year in parentheses stays; symbols of money go."""

    def negative(found: re.Match[str]) -> str:
        year = found.group(1) is None and Number(float(found.group(2).replace(",", ""))).year
        return found.group() if year else f"-{found.group(2)}"

    return _SYMBOL.sub("", _IN_PARENTHESES.sub(negative, text))


def _words_agree(gold: str, answer: str) -> bool:
    """Words beside the numbers (a month, say) must agree, one within the other; a gold of numbers asks for none."""
    ours, theirs = _words(answer), _words(gold)
    if len(theirs) < 2:
        return True
    return len(ours) >= 2 and (theirs in ours or ours in theirs)


def _words(text: str) -> str:
    """A text without its numbers, unit words and punctuation."""
    bare = _UNIT_WORDS.sub("", _NUMBER.sub("", _spaced(text).lower()).replace(",", ""))
    return " ".join(re.sub(r"[^\w\s]", " ", bare).split())


def _plain(text: str) -> str:
    """A text answer as it is compared: no case, no quotes around it, nothing in parentheses."""
    bare = text.strip().lower().strip('"').strip("'")
    return " ".join(re.sub(r"\([^)]*\)", "", bare).split())
