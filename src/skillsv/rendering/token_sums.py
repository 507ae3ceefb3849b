"""The tokens of a skill after deletions, as sums over what is left: nothing is rendered.

The vocabularies count a text line by line (see `tokens.py`). So a slice that begins and ends where lines can be counted
apart has the same tokens in every rendering, but for the gap behind it, and needs to be counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from skillsv.rendering.document import Document
from skillsv.rendering.resources import is_text
from skillsv.rendering.tokens import MAX_CHARS, begins_apart

Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

CountBytes = Callable[[bytes], int]
"""The tokens of the bytes of a text."""

_UNKNOWN = -1
"""In a table of counts: not counted yet."""


def can_sum(document: Document) -> bool:
    """Whether the tokens of the document can be summed up: each slice is text, and all of it is counted in one part."""
    return len(document.data) <= MAX_CHARS and all(is_text(piece.data) for piece in document.slices)


class DocumentTokens:
    """Counts the tokens that deletion leaves of one document: those of `delete_absent`, for any units that are kept."""

    def __init__(self, document: Document, units: int, count: CountBytes) -> None:
        self._count = count
        self._units = units
        self._scope = document.scope
        self._total = count(document.data)
        pieces = [index for index, piece in enumerate(document.slices) if piece.scope]
        self._texts = [document.slices[index].data for index in pieces]
        gaps = [_longest_gap(document, before + 1, after) for before, after in pairwise([-1, *pieces])]
        if self._texts:  # the first gap stays with the first slice
            self._texts[0] = gaps[0] + self._texts[0]
        last = document.slices[-1].data if document.slices and document.slices[-1].gap else b""
        self._gap_texts = list(dict.fromkeys([b"", last, *gaps]))
        number = {text: place for place, text in enumerate(self._gap_texts)}
        self._last_gap = number[last]
        # The largest rank is that of the longest gap, and of several the first.
        self._gap_rank = np.array([len(text) * len(gaps) + len(gaps) - 1 - place for place, text in enumerate(gaps)])
        self._gap_number = np.array([number[text] for text in gaps], dtype=np.int64)
        members = [_bit_places(document.slices[index].scope, units) for index in pieces]
        self._members = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
        self._first_member = np.cumsum([0, *map(len, members[:-1])])
        self._begins_apart = np.array([begins_apart(text.decode()) for text in self._texts], dtype=np.bool_)
        self._text_ends_line = np.array([text.endswith(b"\n") for text in self._texts], dtype=np.bool_)
        self._gap_ends_line = np.array([text.endswith(b"\n") for text in self._gap_texts], dtype=np.bool_)
        self._counted = np.full((len(self._texts), len(self._gap_texts)), _UNKNOWN, dtype=np.int64)

    def __call__(self, kept: int) -> int:
        """The tokens of what is left with the units in these bits."""
        if not kept & self._scope:
            return 0
        if not self._texts:
            return self._total
        present = _to_flags(kept, self._units)
        alive = np.flatnonzero(np.logical_or.reduceat(present[self._members], self._first_member))
        if len(alive) == len(self._texts):
            return self._total
        if not len(alive):
            return 0
        gaps = self._gaps_behind(alive)
        ends_line = np.where(gaps > 0, self._gap_ends_line[gaps], self._text_ends_line[alive])
        joined = ~(ends_line[:-1] & self._begins_apart[alive[1:]])
        if not joined.any():
            return self._sum_apart(alive, gaps)
        apart = ~(np.append(joined, False) | np.append(False, joined))
        return self._sum_apart(alive[apart], gaps[apart]) + self._sum_joined(alive, gaps, joined)

    def _gaps_behind(self, alive: Numbers) -> Numbers:
        """For each slice that is left, the number of the gap behind it: the longest up to the next one, or the last."""
        longest = np.maximum.reduceat(self._gap_rank[: alive[-1] + 1], alive[:-1] + 1) if len(alive) > 1 else alive[:0]
        places = len(self._gap_rank) - 1 - longest % len(self._gap_rank)
        return np.append(self._gap_number[places], self._last_gap)

    def _sum_apart(self, alive: Numbers, gaps: Numbers) -> int:
        """The tokens of slices that are counted alone, each with the gap behind it."""
        counts = self._counted[alive, gaps]
        for place in np.flatnonzero(counts == _UNKNOWN).tolist():
            slice_number, gap = int(alive[place]), int(gaps[place])
            counts[place] = self._count(self._texts[slice_number] + self._gap_texts[gap])
            self._counted[slice_number, gap] = counts[place]
        return int(counts.sum())

    def _sum_joined(self, alive: Numbers, gaps: Numbers, joined: Bools) -> int:
        """The tokens of neighbours that cannot be counted alone."""
        total = 0
        run: list[bytes] = []
        flags = [*joined.tolist(), False]
        for place, (slice_number, gap) in enumerate(zip(alive.tolist(), gaps.tolist(), strict=True)):
            if flags[place] or run:
                run.append(self._texts[slice_number] + self._gap_texts[gap])
            if run and not flags[place]:
                total += self._count(b"".join(run))
                run = []
        return total


class SkillTokens:
    """Counts the tokens that deletion leaves of a skill: its documents, and files that are there with one unit."""

    def __init__(
        self, documents: Iterable[DocumentTokens], files: Iterable[tuple[int, bytes]], count: CountBytes
    ) -> None:
        self._documents = tuple(documents)
        self._files = [(bit, count(data)) for bit, data in files]

    def __call__(self, kept: int) -> int:
        """The tokens of what is left with the units in these bits."""
        in_files = sum(tokens for bit, tokens in self._files if bit & kept)
        return in_files + sum(tokens(kept) for tokens in self._documents) if kept else 0


def _longest_gap(document: Document, start: int, end: int) -> bytes:
    """The first of the longest gaps among these slices; empty where there is none."""
    return max((piece.data for piece in document.slices[start:end]), key=len, default=b"")


def _bit_places(bits: int, units: int) -> Numbers:
    return np.flatnonzero(_to_flags(bits, units))


def _to_flags(bits: int, units: int) -> Bools:
    """A flag for each unit: whether its bit is set."""
    data = np.frombuffer(bits.to_bytes((units + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(data, count=units, bitorder="little").view(np.bool_)
