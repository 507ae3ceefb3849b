"""Would a Markdown reader still see each survivor as what it was? Removing a neighbour can change that.

A paragraph that comes to stand before `---` turns into a heading, an indented block after a list item into part of the
item. Such a change begins where two survivors have become neighbours, so each pair of new neighbours is parsed once and
remembered; only where a pair changes anything is the whole document parsed. So every rendering is checked, cheaply.
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
        self._seams: dict[tuple[int, int, bool], bool] = {}

    def changed(self, parts: list[Part], *, padded: bool) -> set[str]:
        """The units with a slice that is no longer read as what it was."""
        before = -1
        between: list[bytes] = []
        suspicious = False
        for index, data in parts:
            if index is None or self._gaps[index]:
                between.append(data)
            else:
                suspicious |= self._seam_changes(before, index, between, padded=padded)
                before, between = index, []
        suspicious |= self._seam_changes(before, len(self._texts), between, padded=padded)
        return self.changed_in_whole(parts) if suspicious else set()

    def changed_in_whole(self, parts: list[Part]) -> set[str]:
        """The same, found by parsing all of it."""
        found = readings([data if index is None else self._texts[index] for index, data in parts])
        return {
            unit
            for (index, _), reading in zip(parts, found, strict=True)
            if index is not None and (unit := self._units[index]) is not None and reading != self._original[index]
        }

    def _seam_changes(self, before: int, after: int, between: list[bytes], *, padded: bool) -> bool:
        """Whether two new neighbours change how either is read; neighbours of the original never do."""
        key = (before, after, padded)
        if key not in self._seams:
            untouched = all(self._gaps[before + 1 : after])
            self._seams[key] = not untouched and self._parse_seam(before, after, b"".join(between))
        return self._seams[key]

    def _parse_seam(self, before: int, after: int, between: bytes) -> bool:
        head = self._texts[before] if before >= 0 else b""
        tail = self._texts[after] if after < len(self._texts) else b""
        first, _, last = readings([head, between, tail])
        return (before >= 0 and first != self._original[before]) or (
            after < len(self._texts) and last != self._original[after]
        )
