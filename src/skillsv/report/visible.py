"""Text from strangers made safe to show: controls that could drive a terminal or reorder a line become visible."""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVALID = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_HIDDEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}{_INVALID}]")


def visible(text: str) -> str:
    """The text with every control character but tab and newline shown as a symbol, so that it acts on nothing.

    Carriage returns before a newline are dropped: they end a line, they do not overwrite one.
    """
    return _HIDDEN.sub(_symbol, text.replace("\r\n", "\n"))


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


def clip(text: str, limit: int) -> str:
    """The text, or its beginning and how much is not shown."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def clip_lines(text: str, *, width: int, lines: int) -> str:
    """The text with overlong lines and overlong files cut, and said to be cut."""
    rows = text.split("\n")
    shown = [clip(row, width) for row in rows[:lines]]
    return "\n".join([*shown, f"… ({len(rows) - lines:,} more lines)"] if len(rows) > lines else shown)
