"""Counts tokens with a vocabulary of the package bpe-openai, or with any function from text to a number."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType

from skillsv.errors import InputError, SettingsError
from skillsv.model.protocols import TokenCounter

VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""The names in `--tokenizer`, and the names in bpe-openai. Its wheel has all tables: nothing is downloaded."""

_BINDINGS = "bpe_openai._bindings"
"""The compiled module of bpe-openai."""

MAX_CHARS = 500_000
"""bpe-openai refuses a text of a million characters. Longer texts are counted in parts that end at a line."""

_CACHED_LINES = 65_536
"""Lines whose numbers of tokens are remembered: more than two large skills have."""

_CACHED_CHARS = 2_000
"""Characters of a line that is remembered; longer ones are counted each time."""

_LINES = re.compile(r"(?:[^\n]*+\n(?=[\s/]))*+(?:[^\n]++\n?|\n)")
"""Lines that can be counted one by one: both vocabularies split a text into words before they look for tokens, and no
word goes on behind a line end unless white space or a slash follows. Then the next line belongs to this one."""

_GOES_ON = re.compile(r"[\s/]")
"""How a line begins that belongs to the line before it."""

_PARTS = re.compile(rf"[\s\S]{{1,{MAX_CHARS}}}(?:\n|\Z)|[\s\S]{{1,{MAX_CHARS}}}")
"""The parts of a long text."""


class NamedCounter:
    """A token counter with a name for reports.

    `by_lines` says that a text up to a line end and the text behind it can be counted apart if the latter
    `begins_apart`.
    """

    def __init__(self, name: str, count: Callable[[str], int], *, by_lines: bool = False) -> None:
        self.name = name
        self.count = count
        self.by_lines = by_lines

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
    return NamedCounter(name, _load_vocabulary(VOCABULARIES[name]), by_lines=True)


def begins_apart(text: str) -> bool:
    """Whether no token goes on from a line end into this text, which stands behind it."""
    return bool(text) and _GOES_ON.match(text) is None


@cache
def _load_vocabulary(name: str) -> Callable[[str], int]:
    count_encoded = _encoded_counter(name)
    count_short = lru_cache(maxsize=_CACHED_LINES)(count_encoded)

    def count_line(line: str) -> int:
        return count_short(line) if len(line) <= _CACHED_CHARS else count_encoded(line)

    def count(text: str) -> int:
        if len(text) > MAX_CHARS:
            return sum(map(count_encoded, _PARTS.findall(text)))
        lines = _LINES.findall(text)
        all_short = len(text) <= _CACHED_CHARS or max(map(len, lines)) <= _CACHED_CHARS
        return sum(map(count_short if all_short else count_line, lines))

    return count


def _encoded_counter(name: str) -> Callable[[str], int]:
    """The number of tokens by the compiled part of bpe-openai, or by its Python part where that has another form."""
    bindings = _load_bindings()
    if bindings is None or not hasattr(bindings, "tokenizer_for_encoding"):
        import bpe_openai  # type: ignore[import-untyped]

        encode = bpe_openai.get_encoding(name).encode_ordinary
        return lambda text: len(encode(text))
    count_tokens: Callable[[str], int] = bindings.tokenizer_for_encoding(name).count

    def count(text: str) -> int:
        try:
            return count_tokens(text)
        except UnicodeEncodeError:  # half of a character: it counts as the sign for one that cannot be read
            return count_tokens(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    return count


def _load_bindings() -> ModuleType | None:
    """The compiled part of bpe-openai without its Python part, which takes a second of CPU for tables of its own.

    The module keeps its full name, so that the package finds it where another import loads it later.
    """
    if _BINDINGS in sys.modules:
        return sys.modules[_BINDINGS]
    package = find_spec(_BINDINGS.partition(".")[0])
    spec = None if package is None else PathFinder.find_spec(_BINDINGS, package.submodule_search_locations)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    sys.modules[_BINDINGS] = module
    spec.loader.exec_module(module)
    return module
