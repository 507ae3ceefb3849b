"""Counts tokens with a vocabulary of the package bpe-openai, or with any function from text to a number."""

from __future__ import annotations

import re
from collections.abc import Callable

from skillsv.errors import InputError, SettingsError
from skillsv.model.protocols import TokenCounter

VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""The names in `--tokenizer`, and the names in bpe-openai. Its wheel has all tables: nothing is downloaded."""

_MAX_CHARS = 500_000
"""bpe-openai refuses a text of a million characters. Longer texts are counted in parts that end at a line."""

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


def _load_vocabulary(name: str) -> Callable[[str], int]:
    # Imported here because it takes 0.1 s and 40 MB.
    import bpe_openai  # type: ignore[import-untyped]

    encode = bpe_openai.get_encoding(name).encode_ordinary

    def count(text: str) -> int:
        if len(text) <= _MAX_CHARS:
            return len(encode(text))
        return sum(len(encode(part)) for part in _PARTS.findall(text))

    return count
