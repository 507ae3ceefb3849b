"""Token counters: the vocabularies, functions of the user, and texts too long for the library."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from itertools import pairwise

import bpe_openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.errors import InputError, SettingsError
from skillsv.model.protocols import TokenCounter
from skillsv.rendering import FILLERS, token_counter, tokens
from skillsv.rendering.tokens import VOCABULARIES, _load_vocabulary


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
def test_known_counts(name):
    counter = token_counter(name)
    assert isinstance(counter, TokenCounter)
    assert counter.name == name
    assert counter("hello world") == 2
    assert counter("") == 0


def test_vocabularies_differ():
    text = "\u4f60\u597d\uff0c\u4e16\u754c"
    assert token_counter("o200k")(text) < token_counter("cl100k")(text)


def test_special_tokens_are_plain_text():
    assert token_counter("o200k")("<|endoftext|>") > 1


def test_a_text_of_more_than_a_million_characters_is_counted_in_parts():
    line = "word " * 9 + "\n"
    assert token_counter("o200k")(line * 30_000) == 30_000 * token_counter("o200k")(line)
    assert token_counter("o200k")("a" * 1_200_000) > 1000


WORDS = ["a", "Word", "'s", " x", "7", "1234", "- ", ".", "//", "/", "\n", "\n\n", "\r\n", "\r", " ", "  ", "\t", "\u00a0",
         "\u2028", "\x1c", "\x85", "\u3000", "`code`", "\u4f60\u597d", "e\u0301", "\U0001f600", "?!\n", ")\n/", "_", "|"]  # fmt: skip
"""Where tokens may cross the end of a line: white space of all kinds, slashes, signs and letters."""


encoding = cache(bpe_openai.get_encoding)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["o200k", "cl100k"])
@given(words=st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=40))
@settings(max_examples=300, deadline=None)
def test_counting_line_by_line_is_counting_the_text(name, words):
    text = "".join(words)
    assert token_counter(name)(text) == len(encoding(VOCABULARIES[name]).encode_ordinary(text))


def test_a_text_that_shares_lines_with_another_is_not_encoded_again(monkeypatch):
    encoded = []
    monkeypatch.setattr(tokens, "_encoded_counter", lambda name: lambda text: encoded.append(text) or len(text))
    counter = _load_vocabulary.__wrapped__("o200k_base")
    lines = [f"- Rule {number}.\n" for number in range(50)]
    for left in range(50):
        assert counter("".join(lines[left:])) == sum(map(len, lines[left:]))
    assert len(encoded) == 50


def test_half_a_character_is_counted_as_the_package_counts_it():
    assert token_counter("o200k")("\ud800 x") == len(encoding("o200k_base").encode_ordinary("\ud800 x"))


def test_another_form_of_the_package_is_counted_by_its_public_names(monkeypatch):
    monkeypatch.setattr(tokens, "_load_bindings", lambda: None)
    text = "Two words,\nand more.\n"
    assert _load_vocabulary.__wrapped__("o200k_base")(text) == token_counter("o200k")(text)


@pytest.mark.heavy
def test_counting_does_not_load_the_tables_of_the_python_part():
    """They take a second of CPU, in every command. The package works beside the compiled part alone."""
    code = (
        "import sys; from skillsv.rendering.tokens import token_counter; print(token_counter('o200k')('Two words'));"
        "print('bpe_openai' in sys.modules); import bpe_openai;"
        "print(len(bpe_openai.get_encoding('o200k_base').encode_ordinary('Two words')))"
    )
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["2", "False", "2"]


def test_any_callable_counts():
    counter = token_counter(len)
    assert counter.name == "len"
    assert counter("four") == 4


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(SettingsError, match="o200k, cl100k"):
        token_counter("gpt2")


@pytest.mark.parametrize("answer", [-1, 2.5, None, "3"])
def test_a_callable_that_returns_no_count_is_refused(answer):
    with pytest.raises(InputError, match="not a number of tokens"):
        token_counter(lambda _: answer)("text")


@pytest.mark.parametrize("name", sorted(FILLERS))
@pytest.mark.parametrize("vocabulary", ["o200k", "cl100k"])
def test_every_word_of_a_filler_is_one_token(name, vocabulary):
    count, filler = token_counter(vocabulary), FILLERS[name]
    sizes = [count(filler.text(words) + "\n") for words in range(1, 40)]
    assert [later - earlier for earlier, later in pairwise(sizes)] == [1] * 38
