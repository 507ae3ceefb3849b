"""Untrusted text inside Markdown: shown to the letter, whatever it contains."""

from __future__ import annotations

import string

from skillsv.report.escape import escape_line, shorten

_ENTITIES = {ord(symbol): f"&#{ord(symbol)};" for symbol in string.punctuation}
"""All ASCII punctuation as entities, which Markdown never reads as structure: no link, table cell, tag or comment."""


def code(text: str, width: int = 160) -> str:
    """One line of untrusted text as code. Code hosts link no name, issue or address inside it."""
    shown = shorten(escape_line(text).strip(), width)
    return f"<code>{shown.translate(_ENTITIES)}</code>" if shown else ""
