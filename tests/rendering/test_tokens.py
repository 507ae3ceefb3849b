"""Token counters: the vocabularies, functions of the user, and texts too long for the library."""

from __future__ import annotations

from itertools import pairwise

import pytest

from skillsv.errors import InputError, SettingsError
from skillsv.model.protocols import TokenCounter
from skillsv.rendering import FILLERS, token_counter


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
