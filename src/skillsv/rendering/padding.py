"""rho_pad: replaces absent text by neutral filler, and keeps the token count of the document exactly.

The tokens of parts do not add up to the tokens of the whole. So each absent piece first gets filler of about its own
number of tokens, line by line. Then the longest fill is changed until the count of the whole document is right.

That filler is neutral is an assumption (the paper's context cost rests on it). So there are several fillers: a run can
report two and compare them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice

from skillsv.errors import SettingsError
from skillsv.rendering.comments import CommentStyle, markdown_style
from skillsv.rendering.document import Document, Part, join_parts

ENDINGS = (".", " .", " ")
"""Texts that, repeated, complete a length which whole words do not reach, for counters that split ` blank`."""

_MAX_ROUNDS = 8
"""Corrections by whole words. One is nearly always enough, because a word inside a run is one token."""

_MAX_FILLS = 16
"""Fills in which small changes are tried, so that a document of many absent pieces takes no longer."""

_MIN_ENDINGS = 8
"""Smallest number of repeated endings that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """Words that are repeated until the space is full. Each is one token in the o200k and cl100k vocabularies.

    `last` replaces a full stop at the end of a line: vocabularies join a full stop and a line end into one token.
    """

    name: str
    words: tuple[str, ...]
    last: str = ""

    def text(self, count: int) -> str:
        """`count` words of filler."""
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


def find_filler(name: str) -> Filler:
    """The filler with that name."""
    if name not in FILLERS:
        raise SettingsError(f"There is no filler '{name}'.", hint=f"Choose one of: {', '.join(FILLERS)}.")
    return FILLERS[name]


class Padder:
    """Replaces text by filler with the same number of tokens. `count` counts the tokens of bytes."""

    def __init__(self, filler: Filler, count: Callable[[bytes], int]) -> None:
        self.filler = filler
        self._count = count
        self._first_guesses: dict[bytes, Fill] = {}

    @cached_property
    def rate(self) -> float:
        """Tokens of one word of filler inside a run: 1 in the vocabularies, 6 for a counter of the letters."""
        words = 10 * len(self.filler.words)
        twice, once = (self._count(self.filler.text(times * words).encode()) for times in (2, 1))
        return max(twice - once, 1) / words

    def pad_document(self, document: Document, kept: int, target: int) -> tuple[list[Part], int]:
        """The document with filler for absent slices, and the tokens that it lacks to `target` (0: exact)."""
        slices = enumerate(document.slices)
        parts: list[Part] = [(index if piece.scope & kept else None, piece.data) for index, piece in slices]
        absent = {
            index: self._guess(piece.data, markdown_style(piece.data))
            for index, piece in enumerate(document.slices)
            if piece.scope and not piece.scope & kept
        }
        if not absent:
            return parts, 0

        def count_missing() -> int:
            for index, fill in absent.items():
                parts[index] = (None, fill.text())
            return target - self._count(join_parts(parts))

        return parts, fit_fills(list(absent.values()), count_missing, self.rate)

    def pad_file(self, data: bytes, style: CommentStyle) -> bytes | None:
        """A file of filler with the same number of tokens; None if no such file was found."""
        target = self._count(data)
        if not target:
            return data
        fill = self._guess(data, style)
        missing = fit_fills([fill], lambda: target - self._count(fill.text()), self.rate)
        return None if missing else fill.text()

    def _guess(self, data: bytes, style: CommentStyle) -> Fill:
        """Filler with about as many tokens as the text, and as many lines as it has if the tokens suffice."""
        if data not in self._first_guesses:
            frame = sum(bool(text) for text in (style.open, style.close.strip("\r\n")))
            per_line = sum(bool(text) for text in (style.before, style.after, style.join))
            tokens = self._count(data)
            breaks = data.count(b"\n") or data.count(b"\r")
            lines = max(1, min(breaks + (not data.endswith((b"\n", b"\r"))), tokens // (per_line + 1)))
            words, rest = divmod(max(0, int((tokens - frame - lines * per_line) / self.rate)), lines)
            self._first_guesses[data] = Fill(self.filler, style, [*[words] * (lines - 1), words + rest])
        return self._first_guesses[data].copy()


@dataclass(slots=True)
class Fill:
    """The filler of one absent piece: the number of words on each line, and an `ending` of the last line."""

    filler: Filler
    style: CommentStyle
    words: list[int]
    ending: str = ""

    def copy(self) -> Fill:
        """A copy that can be changed independently."""
        return Fill(self.filler, self.style, list(self.words), self.ending)

    def text(self) -> bytes:
        """The bytes in the document."""
        style, texts = self.style, [self.filler.text(count) for count in self.words]
        texts[-1] += self.ending
        lines = [f"{style.before}{text}{style.after}" for text in texts]
        return f"{style.open}{style.join.join(lines)}{style.close}".encode()

    def grow(self, words: int) -> int:
        """Add words to the last line, or remove words (`words` < 0) from the end. Returns what it could not remove.

        Words are removed from earlier lines only if the last line is empty: a changed line end changes the count.
        """
        for line in range(len(self.words) - 1, -1, -1):
            self.words[line], words = max(0, self.words[line] + words), min(0, self.words[line] + words)
            if not words:
                break
        return words


def fit_fills(fills: list[Fill], count_missing: Callable[[], int], rate: float) -> int:
    """Change the fills until the document lacks no token (`count_missing` < 0: it has too many).

    Returns the tokens that are still missing. `rate` is the number of tokens of a word of filler.
    """
    fills = sorted(fills, key=lambda fill: -sum(fill.words))
    for _ in range(_MAX_ROUNDS):
        missing = count_missing()
        if not missing:
            return 0
        words = int(missing // rate)  # rounded down: a positive rest can be filled by endings
        if not words or not _grow_fills(fills, words):
            break
    return _try_small_changes(fills, count_missing, endings=max(_MIN_ENDINGS, int(2 * rate)))


def _grow_fills(fills: list[Fill], words: int) -> bool:
    """Grow or shrink the longest fill, then the next; False if the fills have too few words to remove."""
    for fill in fills:
        words = fill.grow(words)
        if not words:
            return True
    return False


def _try_small_changes(fills: list[Fill], count_missing: Callable[[], int], endings: int) -> int:
    """Try small changes one at a time, and apply the best one."""
    missing = count_missing()
    if not missing:
        return 0
    best: tuple[Fill, Fill] | None = None
    for fill, changed in _small_changes(fills, endings):
        before = fill.copy()
        _assign(fill, changed)
        now = count_missing()
        if not now:
            return 0
        if abs(now) < abs(missing):
            missing, best = now, (fill, changed)
        _assign(fill, before)
    if best is not None:
        _assign(*best)
    return count_missing()


def _assign(fill: Fill, other: Fill) -> None:
    fill.words, fill.ending = other.words, other.ending


def _small_changes(fills: list[Fill], endings: int) -> Iterator[tuple[Fill, Fill]]:
    """Pairs of a fill and its changed form: first endings of the longest fill, then other words and lines."""
    longest = fills[0]
    for fewer in (0, 1):
        shorter = longest.copy()
        shorter.grow(-fewer)
        for number in range(1, endings + 1):
            for ending in ENDINGS:
                yield longest, Fill(longest.filler, longest.style, shorter.words, ending * number)
    for fill in fills[:_MAX_FILLS]:
        *others, last = fill.words
        for lines in (others, others[:-1], [], [*others, 0]):
            for change in (1, -1, 2, -2, 3, -3, 0):
                yield fill, Fill(fill.filler, fill.style, [*lines, max(0, last + change)])
