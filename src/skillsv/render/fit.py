"""Change filler until the document has the tokens it should have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from skillsv.render.fill import Fill

_ROUNDS = 8
"""Corrections by whole words; one is nearly always enough, since a word inside a run is one token."""

CRUMBS = (".", " .", " ")
"""What fills up a length that whole words do not meet, repeated: for counters that see letters, or split ` blank`."""


def fitted(fills: list[Fill], missing: Callable[[], int], rate: float) -> int:
    """Change the fills until `missing`, the tokens the document lacks (negative: has too many), is zero.

    Returns what is still missing. `rate` is the number of tokens of a word of filler.
    """
    fills = sorted(fills, key=lambda fill: -sum(fill.words))
    for _ in range(_ROUNDS):
        lacking = missing()
        if not lacking:
            return 0
        words = int(lacking // rate)  # rounded down: what is left is positive, and crumbs can fill it
        if not words or not _placed(fills, words):
            break
    return _nudged(fills, missing, crumbs=max(8, int(2 * rate)))


def _placed(fills: list[Fill], words: int) -> bool:
    """Grow or shrink the longest fill, then the next; False when there was not enough to take away."""
    for fill in fills:
        words = fill.grow(words)
        if not words:
            return True
    return False


def _nudged(fills: list[Fill], missing: Callable[[], int], crumbs: int) -> int:
    """Try small changes one at a time and keep the best."""
    lacking = missing()
    if not lacking:
        return 0
    best: tuple[Fill, Fill] | None = None
    for fill, changed in _neighbours(fills, crumbs):
        before = fill.copy()
        _take_over(fill, changed)
        now = missing()
        if not now:
            return 0
        if abs(now) < abs(lacking):
            lacking, best = now, (fill, changed)
        _take_over(fill, before)
    if best is not None:
        _take_over(*best)
    return missing()


def _take_over(fill: Fill, other: Fill) -> None:
    fill.words, fill.crumb = other.words, other.crumb


def _neighbours(fills: list[Fill], crumbs: int) -> Iterator[tuple[Fill, Fill]]:
    """Crumbs on the longest fill first, then a few words more or less on more or fewer lines, in several fills."""
    longest = fills[0]
    for less in (0, 1):
        shorter = longest.copy()
        shorter.grow(-less)
        for number in range(1, crumbs + 1):
            for crumb in CRUMBS:
                yield longest, Fill(longest.filler, longest.shape, shorter.words, crumb * number)
    for fill in fills[:16]:
        *others, last = fill.words
        for lines in (others, others[:-1], [], [*others, 0]):
            for change in (1, -1, 2, -2, 3, -3, 0):
                yield fill, Fill(fill.filler, fill.shape, [*lines, max(0, last + change)])
