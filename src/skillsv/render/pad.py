"""rho_pad: absent text becomes neutral filler, and the token count of the whole document stays exactly the same.

Tokens of parts do not add up to the tokens of the whole, so the count is matched on the whole document: each absent
piece is filled with about its own number of tokens, line for line, and the residual moves into the longest fill.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from skillsv.render.document import Document
from skillsv.render.fill import Fill
from skillsv.render.fillers import Filler
from skillsv.render.fit import fitted
from skillsv.render.parts import Part, joined
from skillsv.render.shapes import Shape, markdown_shape


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
