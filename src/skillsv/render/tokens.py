"""Count tokens: the vocabularies that come along, or any function from text to a number."""

from __future__ import annotations

import re
from collections.abc import Callable

from skillsv.errors import InputError, SettingsError
from skillsv.model.protocols import TokenCounter

VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""Names people give, and what bpe-openai calls them. All tables are in the wheel: nothing is downloaded."""

_LONGEST = 500_000
"""bpe-openai refuses a text of a million characters; longer ones are counted in parts that end at a line."""

_PARTS = re.compile(rf"[\s\S]{{1,{_LONGEST}}}(?:\n|\Z)|[\s\S]{{1,{_LONGEST}}}")


class NamedCounter:
    """A token counter with the name that reports show."""

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.name = name
        self.count = count

    def __call__(self, text: str) -> int:
        """The number of tokens of the text; a counter that fails or returns nonsense becomes one clear sentence."""
        try:
            tokens = self.count(text)
        except Exception as trouble:  # the user's own function: whatever it raises is bad input
            problem = f"{type(trouble).__name__}: {trouble}"
            raise InputError(
                f"The tokenizer {self.name} failed ({problem}).", hint="Try --tokenizer o200k."
            ) from trouble
        if not isinstance(tokens, int) or tokens < 0:
            raise InputError(f"The tokenizer {self.name} returned {tokens!r}, which is not a number of tokens.")
        return tokens


def token_counter(name: str | Callable[[str], int] = "o200k") -> TokenCounter:
    """The counter with that name (`o200k`, `cl100k`), or one made of any function from text to a number."""
    if isinstance(name, NamedCounter):
        return name
    if not isinstance(name, str):
        return NamedCounter(str(getattr(name, "name", getattr(name, "__name__", "custom"))), name)
    if name not in VOCABULARIES:
        raise SettingsError(f"There is no tokenizer '{name}'.", hint=f"Choose one of: {', '.join(VOCABULARIES)}.")
    return NamedCounter(name, _vocabulary(VOCABULARIES[name]))


def _vocabulary(name: str) -> Callable[[str], int]:
    # 0.1 s and 40 MB: only where tokens are counted
    import bpe_openai  # type: ignore[import-untyped]

    encode = bpe_openai.get_encoding(name).encode_ordinary

    def count(text: str) -> int:
        if len(text) <= _LONGEST:
            return len(encode(text))
        return sum(len(encode(part)) for part in _PARTS.findall(text))

    return count
