"""Would a Markdown reader still see each survivor as what it was? Removing a neighbour can change that.

A paragraph that comes to stand before `---` turns into a heading, an indented block after a list item into part of the
item. What a block is read as depends on its own text and on what stands directly before and after it, so each pair of
neighbours is parsed once and remembered: every rendering is checked, and the check stays cheap.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from markdown_it import MarkdownIt

from skillsv.model.skill import PieceRole
from skillsv.render.document import Document
from skillsv.render.parts import Part

Reading = frozenset[tuple[str, int, int]]
"""How some lines are read: token type, line and nesting level of every block that begins there."""

_LISTS = ("bullet_list_open", "ordered_list_open")  # neighbouring lists may join: their items stay items


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """Block rules only; at the preset's nesting limit of 20 a deep list would swallow its siblings."""
    return MarkdownIt("commonmark", {"maxNesting": 200}).enable("table").disable("inline")


def readings(texts: list[bytes]) -> list[Reading]:
    """How each of the consecutive texts is read when they are parsed together."""
    starts = [0, *accumulate(_line_ends(text) for text in texts)]
    found: list[set[tuple[str, int, int]]] = [set() for _ in texts]
    for token in _parser().parse(b"".join(texts).decode("utf-8", errors="replace")):
        if token.map and token.nesting >= 0 and token.type not in _LISTS:
            line = token.map[0]
            place = min(bisect_right(starts, line) - 1, len(texts) - 1)
            found[place].add((token.type, line - starts[place], token.level))
    return [frozenset(part) for part in found]


def _line_ends(text: bytes) -> int:
    """The number of line ends, as Markdown counts them."""
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


class KindWatch:
    """Remembers how each slice of a document is read, and which neighbours change that."""

    def __init__(self, document: Document, trigger: str) -> None:
        self._units = [piece.unit for piece in document.slices]
        self._gaps = [piece.gap for piece in document.slices]
        # Frontmatter and the byte order mark are no Markdown: they are left out, as the compiler leaves them out.
        self._texts = [
            b"" if piece.role is PieceRole.BOM or piece.unit == trigger else piece.data for piece in document.slices
        ]
        self._original = readings(self._texts)
        self._seams: dict[tuple[int, int, bool], tuple[str, ...]] = {}

    def changed(self, parts: list[Part], *, padded: bool) -> set[str]:
        """The units with a slice that is no longer read as what it was."""
        units: set[str] = set()
        before = -1
        between: list[bytes] = []
        for index, data in parts:
            if index is None or self._gaps[index]:
                between.append(data)
            else:
                units.update(self._at_seam(before, index, between, padded=padded))
                before, between = index, []
        units.update(self._at_seam(before, len(self._texts), between, padded=padded))
        return units

    def _at_seam(self, before: int, after: int, between: list[bytes], *, padded: bool) -> tuple[str, ...]:
        """The units on either side that the other side changes; neighbours of the original never do."""
        key = (before, after, padded)
        if key not in self._seams:
            untouched = all(self._gaps[before + 1 : after])
            self._seams[key] = () if untouched else self._parse_seam(before, after, b"".join(between))
        return self._seams[key]

    def _parse_seam(self, before: int, after: int, between: bytes) -> tuple[str, ...]:
        sides = [index for index in (before, after) if 0 <= index < len(self._texts)]
        head = self._texts[before] if before >= 0 else b""
        tail = self._texts[after] if after < len(self._texts) else b""
        first, _, last = readings([head, between, tail])
        read = {before: first, after: last}
        return tuple(
            unit for index in sides if read[index] != self._original[index] and (unit := self._units[index]) is not None
        )
