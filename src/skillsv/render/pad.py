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
    """The filler of one absent piece: `lines` lines with `words` words in all. Mutable: it is being fitted."""

    filler: Filler
    shape: Shape
    lines: int
    words: int

    def text(self) -> bytes:
        """The filler as it stands in the document; what does not divide evenly is in the last line."""
        each, rest = divmod(self.words, self.lines)
        counts = [each] * (self.lines - 1) + [each + rest]
        lines = [f"{self.shape.before}{self.filler.text(count)}{self.shape.after}" for count in counts]
        return (self.shape.open + self.shape.join.join(lines) + self.shape.close).encode()

    def grow(self, words: int) -> int:
        """Add words (or take some away, down to none) and say how many are left to place."""
        self.words, left = max(0, self.words + words), min(0, self.words + words)
        return left


def fill_for(data: bytes, tokens: int, filler: Filler, shape: Shape) -> Fill:
    """Filler of about that many tokens, on as many lines as the original had where the tokens suffice."""
    frame = sum(bool(text) for text in (shape.open, shape.close.strip("\r\n")))
    each = sum(bool(text) for text in (shape.before, shape.after, shape.join))
    breaks = data.count(b"\n") or data.count(b"\r")
    lines = max(1, min(breaks + (not data.endswith((b"\n", b"\r"))), tokens // (each + 1)))
    return Fill(filler, shape, lines, max(0, tokens - frame - lines * each))


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
    for _ in range(_ROUNDS):
        missing = attempt()
        if not missing:
            return 0
        left = missing
        for fill in sorted(fills, key=lambda fill: -fill.words):
            left = fill.grow(left)
            if not left:
                break
        else:
            break  # nothing left to take away
    return _nudged(fills, attempt)


def _nudged(fills: list[Fill], attempt: Callable[[], int]) -> int:
    """Small documents only: try one word or line more or less in each fill, then keep the best."""
    best, missing = None, attempt()
    for fill, words, lines in _neighbours(fills):
        before = (fill.words, fill.lines)
        fill.words, fill.lines = words, lines
        now = attempt()
        if not now:
            return 0
        if abs(now) < abs(missing):
            best, missing = (fill, words, lines), now
        fill.words, fill.lines = before
    if best is not None:
        fill, fill.words, fill.lines = best
    attempt()
    return missing


def _neighbours(fills: list[Fill]) -> Iterator[tuple[Fill, int, int]]:
    for fill in fills[:16]:
        for lines in {fill.lines, fill.lines + 1, max(1, fill.lines - 1), 1}:
            for words in range(max(0, fill.words - 3), fill.words + 4):
                yield fill, words, lines


def padded_file(data: bytes, filler: Filler, shape: Shape, count: Count) -> bytes | None:
    """A whole file of filler with the same number of tokens, or None where no such filler exists."""
    target = count(data)
    if not target:
        return data
    fill = fill_for(data, target, filler, shape)
    off = fitted([fill], lambda: target - count(fill.text()))
    return None if off else fill.text()
