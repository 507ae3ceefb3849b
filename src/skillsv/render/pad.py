"""rho_pad: absent text becomes neutral filler, and the token count of the whole document stays exactly the same.

Tokens of parts do not add up to the tokens of the whole, so the count is matched on the whole document: each absent
piece is filled with about its own number of tokens, line for line, and the residual moves into the longest fill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from skillsv.render.document import Document
from skillsv.render.fillers import Filler
from skillsv.render.parts import Part, joined
from skillsv.render.shapes import Shape

Count = Callable[[bytes], int]

_ROUNDS = 8
"""Corrections of the longest fill; one is nearly always enough, since a word inside a run is one token."""


@dataclass(slots=True)
class Fill:
    """The filler of one absent piece: so many words on each line. Mutable: it is being fitted."""

    filler: Filler
    shape: Shape
    words: list[int]

    def text(self) -> bytes:
        """The filler as it stands in the document."""
        lines = [f"{self.shape.before}{self.filler.text(count)}{self.shape.after}" for count in self.words]
        return (self.shape.open + self.shape.join.join(lines) + self.shape.close).encode()

    def grow(self, words: int) -> int:
        """Add words to the last line, or take some away from the end, and say how many could not be taken.

        The other lines stay as they are: how a line ends changes its count, and must not change back and forth.
        """
        for line in range(len(self.words) - 1, -1, -1):
            self.words[line], words = max(0, self.words[line] + words), min(0, self.words[line] + words)
            if not words:
                break
        return words


def fill_for(data: bytes, tokens: int, filler: Filler, shape: Shape) -> Fill:
    """Filler of about that many tokens, on as many lines as the original had where the tokens suffice."""
    frame = sum(bool(text) for text in (shape.open, shape.close.strip("\r\n")))
    each = sum(bool(text) for text in (shape.before, shape.after, shape.join))
    breaks = data.count(b"\n") or data.count(b"\r")
    lines = max(1, min(breaks + (not data.endswith((b"\n", b"\r"))), tokens // (each + 1)))
    words, rest = divmod(max(0, tokens - frame - lines * each), lines)
    return Fill(filler, shape, [*[words] * (lines - 1), words + rest])


def padded(
    document: Document, kept: int, fills: Callable[[int], Fill], target: int, count: Count
) -> tuple[list[Part], int]:
    """The document with filler for absent slices, and how many tokens it is off (0: exact)."""
    absent = {
        index: fills(index) for index, piece in enumerate(document.slices) if piece.scope and not piece.scope & kept
    }
    parts = [(index if piece.scope & kept else None, piece.data) for index, piece in enumerate(document.slices)]
    if not absent:
        return parts, 0

    def attempt() -> int:
        for index, fill in absent.items():
            parts[index] = (None, fill.text())
        return target - count(joined(parts))

    return parts, fitted(list(absent.values()), attempt)


def fitted(fills: list[Fill], attempt: Callable[[], int]) -> int:
    """Change the fills until `attempt`, the tokens still missing (negative: too many), is zero; what is left of it."""
    fills = sorted(fills, key=lambda fill: -sum(fill.words))
    for _ in range(_ROUNDS):
        missing = attempt()
        if not missing:
            return 0
        for fill in fills:
            missing = fill.grow(missing)
            if not missing:
                break
        else:
            break  # nothing left to take away
    return _nudged(fills, attempt)


def _nudged(fills: list[Fill], attempt: Callable[[], int]) -> int:
    """Where filler cannot be cut finely enough: try a few words more or less, on fewer lines, and keep the best."""
    missing = attempt()
    best = (fills[0], fills[0].words)
    for fill, words in _neighbours(fills):
        before, fill.words = fill.words, words
        now = attempt()
        if not now:
            return 0
        if abs(now) < abs(missing):
            missing, best = now, (fill, words)
        fill.words = before
    best[0].words = best[1]
    attempt()
    return missing


def _neighbours(fills: list[Fill]) -> Iterator[tuple[Fill, list[int]]]:
    for fill in fills[:16]:
        *others, last = fill.words
        for lines in (others, others[:-1], [], [*others, 0]):
            for change in (1, -1, 2, -2, 3, -3, 0):
                yield fill, [*lines, max(0, last + change)]


def padded_file(data: bytes, filler: Filler, shape: Shape, count: Count) -> bytes | None:
    """A whole file of filler with the same number of tokens, or None where no such filler exists."""
    target = count(data)
    if not target:
        return data
    fill = fill_for(data, target, filler, shape)
    off = fitted([fill], lambda: target - count(fill.text()))
    return None if off else fill.text()
