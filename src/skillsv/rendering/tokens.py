"""Counts tokens with a vocabulary of the package bpe-openai, or with any function from text to a number."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from skillsv.errors import InputError, SettingsError
from skillsv.model.protocols import TokenCounter

VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""The names in `--tokenizer`, and the names in bpe-openai. Its wheel has all tables: nothing is downloaded."""

_MAX_CHARS = 500_000
"""bpe-openai refuses a text of a million characters. Longer texts are counted in parts that end at a line."""

_CACHED_LINES = 65_536
"""Lines whose numbers of tokens are remembered: more than two large skills have."""

_CACHED_CHARS = 2_000
"""Characters of a line that is remembered; longer ones are counted each time."""

_LINES = re.compile(r"(?:[^\n]*+\n(?=[\s/]))*+(?:[^\n]++\n?|\n)")
"""Lines that can be counted one by one: both vocabularies split a text into words before they look for tokens, and no
word goes on behind a line end unless white space or a slash follows. Then the next line belongs to this one."""

_PARTS = re.compile(rf"[\s\S]{{1,{_MAX_CHARS}}}(?:\n|\Z)|[\s\S]{{1,{_MAX_CHARS}}}")
"""The parts of a long text."""


class NamedCounter:
    """A token counter with a name for reports."""

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.name = name
        self.count = count

    def __call__(self, text: str) -> int:
        """The number of tokens of the text. Raises InputError if the counter fails or returns no count."""
        try:
            tokens = self.count(text)
        except Exception as error:  # the function of the user: any error in it is bad input
            raise InputError(
                f"The tokenizer {self.name} failed ({type(error).__name__}: {error}).", hint="Try --tokenizer o200k."
            ) from error
        if not isinstance(tokens, int) or tokens < 0:
            raise InputError(f"The tokenizer {self.name} returned {tokens!r}, which is not a number of tokens.")
        return tokens


def token_counter(name: str | Callable[[str], int] = "o200k") -> TokenCounter:
    """The counter with that name (`o200k`, `cl100k`), or a counter that calls a function from text to a number."""
    if isinstance(name, NamedCounter):
        return name
    if not isinstance(name, str):
        return NamedCounter(str(getattr(name, "name", getattr(name, "__name__", "custom"))), name)
    if name not in VOCABULARIES:
        raise SettingsError(f"There is no tokenizer '{name}'.", hint=f"Choose one of: {', '.join(VOCABULARIES)}.")
    return NamedCounter(name, _load_vocabulary(VOCABULARIES[name]))


@cache
def _load_vocabulary(name: str) -> Callable[[str], int]:
    # Imported here because it takes 0.1 s and 40 MB; a process loads a vocabulary once.
    import bpe_openai  # type: ignore[import-untyped]

    encode = bpe_openai.get_encoding(name).encode_ordinary

    @lru_cache(maxsize=_CACHED_LINES)
    def count_short(line: str) -> int:
        return len(encode(line))

    def count_line(line: str) -> int:
        return count_short(line) if len(line) <= _CACHED_CHARS else len(encode(line))

    def count(text: str) -> int:
        if len(text) <= _MAX_CHARS:
            return sum(map(count_line, _LINES.findall(text)))
        return sum(len(encode(part)) for part in _PARTS.findall(text))

    return count
