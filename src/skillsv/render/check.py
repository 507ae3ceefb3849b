"""Every rendering is checked against the original: survivors byte for byte, and nothing added but gaps or filler."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from markdown_it import MarkdownIt

from skillsv.errors import SkillSVError
from skillsv.model.skill import PieceRole
from skillsv.render.comments import MARKER
from skillsv.render.document import Document, Part
from skillsv.render.padding import CRUMBS, Filler

BLANK = re.compile(rb"\s*")


def filler_pattern(filler: Filler) -> re.Pattern[bytes]:
    """What may stand between survivors under padding: filler, crumbs, line ends, the marker of a list item.

    Possessive, so that a failure is found at once and not after every way to split it.
    """
    words = b"|".join(re.escape(word.encode()) for word in (*filler.words, filler.last, *CRUMBS) if word)
    return re.compile(rb"(?:" + MARKER + rb")?(?:" + words + rb"|\s)*+")


def verify(document: Document, kept: int, parts: list[Part], data: bytes, between: re.Pattern[bytes]) -> None:
    """Complain if `data` is not exactly the surviving slices in order, with only `between` around them."""
    expected = [index for index, piece in enumerate(document.slices) if piece.scope & kept]
    if [index for index, _ in parts if index is not None and document.slices[index].scope] != expected:
        raise SkillSVError("A rendering lost or kept the wrong piece of the skill: this is a bug in skillsv.")
    place = 0
    for index, text in parts:
        if index is None:
            end = place + len(text)
            sound = between.fullmatch(data, place, end) is not None
        else:
            original = document.slices[index].data
            end = place + len(original)
            sound = data.startswith(original, place)
        if not sound:
            raise SkillSVError(
                f"A rendering changed bytes at offset {place} that it must not: this is a bug in skillsv."
            )
        place = end
    if place != len(data):
        raise SkillSVError("A rendering has bytes that belong to nothing: this is a bug in skillsv.")


# Would a Markdown reader still see each survivor as what it was? Removing a neighbour can change that.
# A paragraph that comes to stand before `---` turns into a heading, an indented block after a list item into part of
# the item. Such a change begins where two survivors have become neighbours, so each pair of new neighbours is parsed
# once and remembered; the whole document is parsed only where a pair changes anything.

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
