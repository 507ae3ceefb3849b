"""Upstream's verifier: numbers, tolerance, units, negatives, years, lists, texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv_bench.officeqa.upstream import Number, final_answer, numbers, upstream_score


@pytest.mark.parametrize(
    ("gold", "answer", "score"),
    [
        ("543", "543", 1),
        ("543", "543.0", 1),
        ("1,234", "1234", 1),
        ("1234", "$1,234", 1),
        ("543", "544", 0),
        ("0", "0.0", 1),
        ("0", "1", 0),
        # signs
        ("-1234", "(1,234)", 1),
        ("-1234", "($ 1,234)", 1),
        ("-5", "\N{MINUS SIGN}5", 1),
        ("-5", "5", 0),
        ("1977", "(1977)", 1),  # a year in parentheses is no debt
        ("-1977", "($1977)", 1),
        # units
        ("543 million", "543", 1),
        ("543", "543 million", 1),
        ("543 million", "543 M", 1),
        ("543 million", "543 billion", 0),
        ("543 million", "543,000,000", 0),
        ("5 thousand", "5k", 1),  # no word of its own, so no unit: one is absent
        ("5 thousand", "5 million", 0),
        ("5%", "5 percent", 1),
        # one direct answer
        ("543", "", 0),
        ("543", "543\n\n544", 0),
        ("543", "\n543\n", 1),
        ("543", "543 or 544", 0),
        ("543", "about 543 in all", 1),
        ("543", "543 " + "x" * 250, 0),
        ("543", "<b>543</b>", 0),
        ("543", "unable to determine, perhaps 543", 0),
        # years
        ("543", "543 (in 1977)", 1),
        ("543", "543 in 1977 and 1978", 1),
        ("1977", "1977", 1),
        ("1977", "1977, not 1978", 0),
        ("March 1977", "March 1977", 1),
        ("March 1977", "in march of 1977", 1),  # the words of one are within those of the other
        ("March 1977", "April 1977", 0),
        ("March 1977", "1977", 0),
        # lists
        ("[8, 152260]", "[8, 152260]", 1),
        ("[8, 152260]", "[8,152,260]", 1),
        ("[8, 152260]", "8, 152,260", 1),
        ("[8, 152260]", "[152260, 8]", 0),
        ("[8, 152260]", "[8]", 0),
        ("[0, 2]", "[0, 2]", 1),
        ("[-3, 2]", "[(3), 2]", 1),
        ("[1, 2] million", "[1, 2]", 1),
        ("3 and 4", "4 and 3", 1),  # no list in brackets: any order
        ("3 and 4", "3 and 3", 0),
        ("[Salem, 0.866]", "[Salem, 0.866]", 1),
        ("[Salem, 0.866]", "[Boston, 0.866]", 0),
        # texts
        ("Trust Fund", '"trust fund"', 1),
        ("Trust (OASI) Fund", "trust fund", 1),
        ("Trust Fund", "the trust fund", 0),
        ("Trust Fund", "trust fund 2", 0),
        ("", "", 0),
        ("", "5", 0),
    ],
)
def test_without_tolerance(gold, answer, score):
    assert upstream_score(gold, answer) == score


@pytest.mark.parametrize(
    ("gold", "answer", "tolerance", "score"),
    [
        ("100", "101", 0.01, 1),
        ("100", "102", 0.01, 0),
        ("-100", "-99", 0.01, 1),
        ("0", "0.001", 1.0, 0),
        ("[100, 10]", "[101, 10]", 0.01, 1),
    ],
)
def test_with_tolerance(gold, answer, tolerance, score):
    assert upstream_score(gold, answer, tolerance) == score


def test_the_last_tags_count():
    text = "<FINAL_ANSWER>4</FINAL_ANSWER> no, <final_answer>\n5 </final_answer> done"
    assert final_answer(text) == "5"
    assert upstream_score("5", text) == 1.0
    assert final_answer("5") is None
    assert upstream_score("5", "<FINAL_ANSWER></FINAL_ANSWER>") == 0.0


def test_numbers_and_their_units():
    assert numbers("$1,234.5 million, then (7) and, far away from the word, 3") == [
        Number(1234.5, "million"),
        Number(-7.0, "million"),  # within twenty characters
        Number(3.0, None),
    ]


def test_a_hostile_list_does_not_take_for_ever():
    assert upstream_score("[" + ", ".join(["111"] * 12) + "]", ",".join(["111"] * 60)) == 0.0


@given(st.floats(-1e9, 1e9, allow_nan=False).map(lambda value: f"{value:,.2f}"))
def test_a_number_equals_itself_with_or_without_commas(text):
    assert upstream_score(text, text.replace(",", "")) == 1.0
