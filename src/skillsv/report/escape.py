"""Escaped text: text from a skill, a task or an agent, made safe for a terminal, a page or a file.

Control characters could drive a terminal or reorder a line; they become symbols that a reader sees. HTML, XML, SVG and
Markdown are escaped where they are written; that is a second step.
"""

from __future__ import annotations

import re

from skillsv.model.format import count

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks that change the direction of writing."""

_INVALID = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
"""Surrogates and codes that are no characters: XML and UTF-8 do not allow them."""

_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}{_INVALID}]")
_SPACES = re.compile(r"\s+")

_BINARY_PROBE = 8192
"""Bytes at the start of a file that `is_binary` searches for NUL."""


def escape_text(text: str) -> str:
    """The text with every control character but tab and newline shown as a symbol.

    Carriage returns before a newline are dropped: they end a line, they do not overwrite one.
    """
    return _UNSAFE.sub(_symbol, text.replace("\r\n", "\n"))


def escape_line(text: str) -> str:
    """The text on one line, escaped; each run of spaces, tabs and newlines becomes one space."""
    return escape_text(_SPACES.sub(" ", text))


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


def shorten(text: str, width: int) -> str:
    """At most `width` characters; the last is an ellipsis if something was cut."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def clip(text: str, limit: int) -> str:
    """The text, or its first `limit` characters and the number of those that follow."""
    return text if len(text) <= limit else f"{text[:limit]}… ({count(len(text) - limit)} more characters)"


def clip_lines(text: str, *, width: int, lines: int) -> str:
    """The first `lines` lines, each at most `width` characters, with a note about what was cut."""
    rows = text.split("\n")
    shown = [clip(row, width) for row in rows[:lines]]
    return "\n".join([*shown, f"… ({count(len(rows) - lines)} more lines)"] if len(rows) > lines else shown)


def is_binary(data: bytes) -> bool:
    """Whether the data are not text: a NUL byte near the start says so."""
    return b"\0" in data[:_BINARY_PROBE]
