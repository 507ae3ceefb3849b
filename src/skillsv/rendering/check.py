"""Checks every rendering against the original: its bytes, and how Markdown reads the surviving slices.

`verify` compares bytes. `KindCheck` finds units that Markdown reads as something else because a neighbour is absent: a
paragraph that now stands before `---` becomes a heading, an indented block after a list item becomes part of the item.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from markdown_it import MarkdownIt

from skillsv.errors import SkillSVError
from skillsv.model.skill import PieceRole
from skillsv.rendering.comments import LIST_MARKER
from skillsv.rendering.document import Document, Part
from skillsv.rendering.padding import ENDINGS, Filler

BLANK = re.compile(rb"\s*")
"""What may stand between surviving slices under deletion."""

Reading = frozenset[tuple[str, int, int]]
"""How Markdown reads some lines: token type, line and nesting level of every block that begins there."""

_LISTS = ("bullet_list_open", "ordered_list_open")
"""Tokens that do not count: two neighbouring lists may become one, and their items stay items."""

_MAX_NESTING = 200
"""Nesting limit of the parser. At markdown-it's limit of 20, a deep list would include its siblings."""


def filler_pattern(filler: Filler) -> re.Pattern[bytes]:
    """What may stand between surviving slices under padding: filler, endings, white space, a list marker.

    The quantifier is possessive: a mismatch is found at once, without backtracking.
    """
    words = b"|".join(re.escape(word.encode()) for word in (*filler.words, filler.last, *ENDINGS) if word)
    return re.compile(rb"(?:" + LIST_MARKER + rb")?(?:" + words + rb"|\s)*+")


def verify(document: Document, kept: int, parts: list[Part], data: bytes, between: re.Pattern[bytes]) -> None:
    """Raise SkillSVError unless `data` is the surviving slices in order, with only `between` around them."""
    expected = [index for index, piece in enumerate(document.slices) if piece.scope & kept]
    if [index for index, _ in parts if index is not None and document.slices[index].scope] != expected:
        raise SkillSVError("A rendering lost or kept the wrong piece of the skill: this is a bug in skillsv.")
    place = 0
    for index, text in parts:
        if index is None:
            end = place + len(text)
            valid = between.fullmatch(data, place, end) is not None
        else:
            original = document.slices[index].data
            end = place + len(original)
            valid = data.startswith(original, place)
        if not valid:
            raise SkillSVError(
                f"A rendering changed bytes at offset {place} that it must not: this is a bug in skillsv."
            )
        place = end
    if place != len(data):
        raise SkillSVError("A rendering has bytes that belong to nothing: this is a bug in skillsv.")


def read_blocks(texts: list[bytes]) -> list[Reading]:
    """How Markdown reads each of the consecutive texts when they are parsed together."""
    starts = [0, *accumulate(_count_line_ends(text) for text in texts)]
    readings: list[set[tuple[str, int, int]]] = [set() for _ in texts]
    for token in _parser().parse(b"".join(texts).decode("utf-8", errors="replace")):
        if token.map and token.nesting >= 0 and token.type not in _LISTS:
            line = token.map[0]
            place = min(bisect_right(starts, line) - 1, len(texts) - 1)
            readings[place].add((token.type, line - starts[place], token.level))
    return [frozenset(reading) for reading in readings]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """A parser for blocks only."""
    return MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table").disable("inline")


def _count_line_ends(text: bytes) -> int:
    """The number of line ends, as Markdown counts them."""
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


class KindCheck:
    """Finds units that Markdown reads as another kind of block in a rendering.

    A change begins where two surviving slices have become neighbours. So each pair of new neighbours is parsed once and
    its result is stored. The full document is parsed only if a pair changes.
    """

    def __init__(self, document: Document, frontmatter: frozenset[str]) -> None:
        self._units = [piece.unit for piece in document.slices]
        self._gaps = [piece.gap for piece in document.slices]
        # Frontmatter and the byte order mark are not Markdown: the compiler leaves them out, too.
        self._texts = [
            b"" if piece.role is PieceRole.BOM or piece.unit in frontmatter else piece.data for piece in document.slices
        ]
        self._original = read_blocks(self._texts)
        self._pairs: dict[tuple[int, int, bool], bool] = {}

    def changed_units(self, parts: list[Part], *, padded: bool) -> set[str]:
        """The units with a slice that Markdown reads differently in the rendering."""
        before = -1
        between: list[bytes] = []
        suspected = False
        for index, data in parts:
            if index is None or self._gaps[index]:
                between.append(data)
            else:
                suspected |= self._pair_changes(before, index, between, padded=padded)
                before, between = index, []
        suspected |= self._pair_changes(before, len(self._texts), between, padded=padded)
        return self.changed_units_by_full_parse(parts) if suspected else set()

    def changed_units_by_full_parse(self, parts: list[Part]) -> set[str]:
        """The same result, from a parse of the full document."""
        readings = read_blocks([data if index is None else self._texts[index] for index, data in parts])
        return {
            unit
            for (index, _), reading in zip(parts, readings, strict=True)
            if index is not None and (unit := self._units[index]) is not None and reading != self._original[index]
        }

    def keeps_kinds(self, before: list[Part], after: list[Part]) -> bool:
        """Whether Markdown reads every unit in the second rendering as in the first."""
        return self.changed_units_by_full_parse(before) == self.changed_units_by_full_parse(after)

    def _pair_changes(self, before: int, after: int, between: list[bytes], *, padded: bool) -> bool:
        """Whether Markdown reads one of two neighbours differently; never if they were neighbours in the original."""
        key = (before, after, padded)
        if key not in self._pairs:
            neighbours = all(self._gaps[before + 1 : after])
            self._pairs[key] = not neighbours and self._parse_pair(before, after, b"".join(between))
        return self._pairs[key]

    def _parse_pair(self, before: int, after: int, between: bytes) -> bool:
        head = self._texts[before] if before >= 0 else b""
        tail = self._texts[after] if after < len(self._texts) else b""
        first, _, last = read_blocks([head, between, tail])
        return (before >= 0 and first != self._original[before]) or (
            after < len(self._texts) and last != self._original[after]
        )
