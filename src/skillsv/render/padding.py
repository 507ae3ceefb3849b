"""rho_pad: absent text becomes neutral filler, and the token count of the whole document stays exactly the same.

Tokens of parts do not add up to the tokens of the whole, so the count is matched on the whole document: each absent
piece is filled with about its own number of tokens, line for line, and the residual moves into the longest fill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice

from skillsv.errors import SettingsError
from skillsv.render.comments import Shape, markdown_shape
from skillsv.render.document import Document, Part, joined

# Neutral text that stands in for what is absent: rho_pad's placeholders.
# That filler is neutral is an assumption (the paper's context cost rests on it), so there is more than one: a run can
# report two and compare. Each word is one token in the o200k and cl100k vocabularies; the padder corrects the rest.


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """Words that are repeated until the space is full.

    `last` stands in for a full stop that would end a line: vocabularies join that with the line end into one token,
    and each word is to count as one.
    """

    name: str
    words: tuple[str, ...]
    last: str = ""

    def text(self, count: int) -> str:
        """That many words."""
        if len(self.words) == 1:
            return self.words[0] * count
        words = list(islice(cycle(self.words), count))
        if words and words[-1] == "." and self.last:
            words[-1] = self.last
        return "".join(words)


FILLERS = {
    filler.name: filler
    for filler in (
        Filler(name="blank", words=(" blank",)),
        Filler(name="dots", words=(" .",)),
        Filler(
            name="sentences",
            words=(" This", " part", " is", " left", " empty", " and", " says", " nothing", "."),
            last=" here",
        ),
    )
}
"""All fillers by name."""


def filler_named(name: str) -> Filler:
    """The filler with that name."""
    if name not in FILLERS:
        raise SettingsError(f"There is no filler '{name}'.", hint=f"Choose one of: {', '.join(FILLERS)}.")
    return FILLERS[name]


# The filler of one absent piece, while it is being fitted.


@dataclass(slots=True)
class Fill:
    """So many words of filler on each line. `crumb` ends the last line where whole words do not fit exactly."""

    filler: Filler
    shape: Shape
    words: list[int]
    crumb: str = ""

    def copy(self) -> Fill:
        """Another one that can be changed for itself."""
        return Fill(self.filler, self.shape, list(self.words), self.crumb)

    def text(self) -> bytes:
        """The filler as it stands in the document."""
        shape, texts = self.shape, [self.filler.text(count) for count in self.words]
        texts[-1] += self.crumb
        lines = [f"{shape.before}{text}{shape.after}" for text in texts]
        return f"{shape.open}{shape.join.join(lines)}{shape.close}".encode()

    def grow(self, words: int) -> int:
        """Add words to the last line, or take some away from the end, and say how many could not be taken.

        The other lines stay as they are: how a line ends changes its count, and must not change back and forth.
        """
        for line in range(len(self.words) - 1, -1, -1):
            self.words[line], words = max(0, self.words[line] + words), min(0, self.words[line] + words)
            if not words:
                break
        return words


# Change filler until the document has the tokens it should have.

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


class Padder:
    """Replaces text by filler of the same token count, under one counter of bytes."""

    def __init__(self, filler: Filler, count: Callable[[bytes], int]) -> None:
        self.filler = filler
        self._count = count
        self._first_guess: dict[bytes, Fill] = {}

    @cached_property
    def rate(self) -> float:
        """Tokens of one word of filler inside a run: 1 in the vocabularies that come along, 6 letters of ` blank`."""
        many = 10 * len(self.filler.words)
        more, less = (self._count(self.filler.text(times * many).encode()) for times in (2, 1))
        return max(more - less, 1) / many

    def document(self, document: Document, kept: int, target: int) -> tuple[list[Part], int]:
        """The document with filler for the slices that are absent, and how many tokens it lacks (0: exact)."""
        slices = enumerate(document.slices)
        parts: list[Part] = [(index if piece.scope & kept else None, piece.data) for index, piece in slices]
        absent = {
            index: self._guess(piece.data, markdown_shape(piece.data))
            for index, piece in enumerate(document.slices)
            if piece.scope and not piece.scope & kept
        }
        if not absent:
            return parts, 0

        def missing() -> int:
            for index, fill in absent.items():
                parts[index] = (None, fill.text())
            return target - self._count(joined(parts))

        return parts, fitted(list(absent.values()), missing, self.rate)

    def file(self, data: bytes, shape: Shape) -> bytes | None:
        """A whole file of filler with the same number of tokens, or None where no such filler exists."""
        target = self._count(data)
        if not target:
            return data
        fill = self._guess(data, shape)
        off = fitted([fill], lambda: target - self._count(fill.text()), self.rate)
        return None if off else fill.text()

    def _guess(self, data: bytes, shape: Shape) -> Fill:
        """Filler of about as many tokens, on as many lines as the original had where the tokens suffice."""
        if data not in self._first_guess:
            frame = sum(bool(text) for text in (shape.open, shape.close.strip("\r\n")))
            each = sum(bool(text) for text in (shape.before, shape.after, shape.join))
            tokens = self._count(data)
            breaks = data.count(b"\n") or data.count(b"\r")
            lines = max(1, min(breaks + (not data.endswith((b"\n", b"\r"))), tokens // (each + 1)))
            words, rest = divmod(max(0, int((tokens - frame - lines * each) / self.rate)), lines)
            self._first_guess[data] = Fill(self.filler, shape, [*[words] * (lines - 1), words + rest])
        return self._first_guess[data].copy()
