"""Units that say the same thing twice, exactly or nearly, without asking a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

NEARLY = 0.85
FEWEST_WORDS = 5
_WORD = re.compile(r"[\w'’-]+")
_TELLING = re.compile(r"\d|^(no|not|never|none|neither|nor|without|except|unless|only|\w+n['’]t)$")
"""Numbers and negations: sentences that differ in one of these do not say the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedundantUnits:
    """Two units of which one says all that the other says. `alike` is the share of the shorter in the longer one."""

    first: str
    second: str
    alike: float


def find_redundant(texts: Mapping[str, str]) -> list[RedundantUnits]:
    """All pairs of near duplicates, in the order of the texts."""
    words = {unit: [word.lower() for word in _WORD.findall(text)] for unit, text in texts.items()}
    enough = [unit for unit, found in words.items() if len(found) >= FEWEST_WORDS]
    found = []
    for one, other in combinations(enough, 2):
        alike = likeness(words[one], words[other])
        if alike >= NEARLY:
            found.append(RedundantUnits(first=one, second=other, alike=alike))
    return found


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of the shorter text's pairs of neighbouring words that the longer has, too; 0 if they contradict."""
    shorter, longer = sorted((one, other), key=len)
    if sorted(filter(_TELLING.search, shorter)) != sorted(filter(_TELLING.search, longer)):
        return 0.0
    if len(longer) > 2 * len(shorter):
        return 0.0  # a sentence inside a whole paragraph is no twin of it
    pairs, others = set(pairwise(shorter)), set(pairwise(longer))
    return len(pairs & others) / len(pairs) if pairs else 0.0


def spare_redundant(
    found: Sequence[RedundantUnits], values: Mapping[str, float], tokens: Mapping[str, int], *, resolution: float
) -> list[str]:
    """Of each pair the one that can go: the less valuable, or the longer where they are worth about the same."""
    going: list[str] = []
    for pair in found:
        if pair.first in going or pair.second in going:
            continue
        one, other = pair.first, pair.second
        if abs(values[one] - values[other]) > resolution:
            going.append(min(one, other, key=values.__getitem__))
        else:
            going.append(one if tokens[one] > tokens[other] else other)
    return going
