"""Plain characters on a terminal or pipe whose encoding, such as cp1252 or ASCII, lacks those of our tables."""

from __future__ import annotations

import codecs
import io
import sys

PLAIN = "skillsv-plain"
"""The name of the error handler that writes plain characters in place of those that an encoding lacks."""

_PLAIN_CHARACTERS = {
    "−": "-",
    "–": "-",
    "±": "+/-",
    "…": "~",  # one character, so that columns stay in line
    "→": "->",
    "·": "|",
    "─": "-",
    "━": "-",
    "│": "|",
    "┃": "|",
    "●": "*",
    "◐": "@",
    "○": "o",
    "◌": "0",
    "▼": "v",
    "✓": "ok",
    "“": '"',
    "”": '"',
    "’": "'",
    "╭": "+",
    "╮": "+",
    "╰": "+",
    "╯": "+",
}
"""What is written for the characters of tables, numbers and sentences where the encoding lacks them."""


def replace_characters(error: UnicodeError) -> tuple[str, int]:
    """An error handler for codecs: a plain character where there is one, else the code of the character."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    plain = (_PLAIN_CHARACTERS.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in letters)
    return "".join(plain), error.end


def use_plain_characters() -> None:
    """Let stdout and stderr write plain characters where their encoding, such as cp1252 or ASCII, lacks some."""
    codecs.register_error(PLAIN, replace_characters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
