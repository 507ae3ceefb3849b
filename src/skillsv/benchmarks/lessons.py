"""What an agent that follows rules can learn, and the words by which it recognises each lesson in a skill."""

from __future__ import annotations

import re
from collections.abc import Mapping

Lessons = Mapping[str, re.Pattern[str]]
"""Name of a competence to the words that teach it."""


def lessons(words: Mapping[str, str]) -> Lessons:
    """Lessons from regular expressions; upper and lower case are the same."""
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in words.items()}


def learned(table: Lessons, text: str) -> frozenset[str]:
    """The competences that a text teaches."""
    return frozenset(name for name, words in table.items() if words.search(text))
