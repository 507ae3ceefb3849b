"""Null changes: changes of a rendering that mean nothing, such as a blank line, a comment or a few words of filler.

Many models repeat their answer to the same prompt to the letter and are thrown off by any change of it. Repeats of a
prompt never show this; a null change does, and no real effect is mistaken for it. A changed rendering has its own
digest, so its rollouts have their own keys in the ledger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from skillsv.rendering.document import Part, join_parts
from skillsv.rendering.padding import Filler

COMMENT = b"<!-- blank -->"
"""A comment that says nothing."""

FILLER_WORDS = 4
"""Words of filler that one null change adds."""

SameKinds = Callable[[list[Part], list[Part]], bool]
"""Whether Markdown reads every unit of two renderings as the same kind of block."""


def add_null_change(parts: list[Part], number: int, *, filler: Filler, same_kinds: SameKinds) -> list[Part]:
    """The parts of a document with its null change of that number (1, 2, ...); different numbers differ in bytes.

    The text is inserted into a gap between blocks or at the end, where Markdown reads all units as before. The document
    decides which place and which kind of text have which number, so the same request gives the same bytes.
    """
    data = join_parts(parts)
    line_end = b"\r\n" if b"\r\n" in data else b"\n"
    texts = (line_end, COMMENT + 2 * line_end, filler.text(FILLER_WORDS).strip().encode() + 2 * line_end)
    found = 0
    for place, text in _candidates(parts, texts, data):
        changed = [*parts[:place], (None, text), *parts[place:]]
        if same_kinds(parts, changed):
            found += 1
            if found == number:
                return changed
    return [*parts, (None, line_end * (number - found))]


def _candidates(parts: list[Part], texts: tuple[bytes, ...], data: bytes) -> list[tuple[int, bytes]]:
    """Every text after every gap, in an order that the bytes of the document decide.

    At the end of the document only blank lines follow, when all other places are used.
    """
    gaps = [place + 1 for place, (index, text) in enumerate(parts[:-1]) if index is None and _is_blank_line(text)]
    pairs = [(place, text) for place in gaps for text in texts]
    document = hashlib.sha256(data).digest()
    return sorted(pairs, key=lambda pair: hashlib.sha256(b"%d %b %b" % (*pair, document)).digest())


def _is_blank_line(text: bytes) -> bool:
    """Whether the text is nothing but line ends and spaces, and ends a line."""
    return not text.strip() and text.endswith((b"\n", b"\r"))
