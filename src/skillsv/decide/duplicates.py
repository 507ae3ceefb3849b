"""Redundant units: pairs of units with nearly the same text, found without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

NEARLY = 0.85
"""The similarity from which two units are redundant."""

FEWEST_WORDS = 5
"""Units with fewer words are not compared: they are alike by chance."""

_WORD = re.compile(r"[\w'’-]+")
_DECISIVE = re.compile(r"\d|^(no|not|never|none|neither|nor|without|except|unless|only|\w+n['’]t)$")
"""Numbers and negations: texts that differ in one of these do not say the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedundantUnits:
    """Two units of which one says what the other says. `similarity`: see `text_similarity`."""

    first: str
    second: str
    similarity: float


def find_redundant(texts: Mapping[str, str]) -> list[RedundantUnits]:
    """All pairs of redundant units, in the order of the texts."""
    words = {unit: [word.lower() for word in _WORD.findall(text)] for unit, text in texts.items()}
    long_enough = [unit for unit, listed in words.items() if len(listed) >= FEWEST_WORDS]
    pairs = []
    for one, other in combinations(long_enough, 2):
        similarity = text_similarity(words[one], words[other])
        if similarity >= NEARLY:
            pairs.append(RedundantUnits(first=one, second=other, similarity=similarity))
    return pairs


def text_similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of the shorter text's word pairs that the longer has, too; 0 if numbers or negations differ."""
    shorter, longer = sorted((one, other), key=len)
    if sorted(filter(_DECISIVE.search, shorter)) != sorted(filter(_DECISIVE.search, longer)):
        return 0.0
    if len(longer) > 2 * len(shorter):
        return 0.0  # a sentence is not redundant with a paragraph that contains it
    pairs, others = set(pairwise(shorter)), set(pairwise(longer))
    return len(pairs & others) / len(pairs) if pairs else 0.0


def choose_spare_units(
    pairs: Sequence[RedundantUnits], values: Mapping[str, float], tokens: Mapping[str, int], *, resolution: float
) -> list[str]:
    """Choose one unit of each pair to remove: the less valuable, or the longer where both have about the same value."""
    spare: list[str] = []
    for pair in pairs:
        if pair.first in spare or pair.second in spare:
            continue
        one, other = pair.first, pair.second
        if abs(values[one] - values[other]) > resolution:
            spare.append(min(one, other, key=values.__getitem__))
        else:
            spare.append(one if tokens[one] > tokens[other] else other)
    return spare
