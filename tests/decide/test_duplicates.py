"""Redundant units: which texts are nearly the same, and which unit of a pair is removed."""

import pytest

from skillsv.decide.duplicates import choose_spare_units, find_redundant

SAME = "Read every part of the request before acting on any of it."


@pytest.mark.parametrize(
    "other",
    [SAME, SAME.upper(), f"Once more: {SAME.lower()}", "- Read every part of the request before acting on any of it"],
)
def test_the_same_words_are_redundant(other):
    assert len(find_redundant({"a": SAME, "b": other})) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A refund up to 100 needs no approval from anybody here.", "A refund up to 200 needs no approval from anybody here."),
        ("Send the form to the archive at the end of the day.", "Do not send the form to the archive at the end of the day."),
        ("A ticket that mentions invoice goes to billing.", "A ticket that mentions parcel goes to logistics."),
        ("Stop here.", "Stop here."),
        (SAME, f"{SAME} And then do a great many other things, none of which has anything to do with requests or parts of them."),
    ],
)  # fmt: skip
def test_other_numbers_negations_or_subjects_are_not_redundant(one, other):
    assert find_redundant({"a": one, "b": other}) == []


def test_the_less_valuable_unit_is_removed_or_the_longer_of_equals():
    pairs = find_redundant({"a": SAME, "b": SAME})
    tokens = {"a": 12, "b": 12}
    assert choose_spare_units(pairs, {"a": 0.1, "b": 0.3}, tokens, resolution=0.02) == ["a"]
    assert choose_spare_units(pairs, {"a": 0.3, "b": 0.1}, tokens, resolution=0.02) == ["b"]
    assert choose_spare_units(pairs, {"a": 0.1, "b": 0.11}, {"a": 15, "b": 12}, resolution=0.02) == ["a"]


def test_of_three_redundant_units_one_stays():
    pairs = find_redundant({"a": SAME, "b": SAME, "c": SAME})
    spare = choose_spare_units(pairs, {"a": 0.3, "b": 0.2, "c": 0.1}, dict.fromkeys("abc", 12), resolution=0.0)
    assert sorted(spare) == ["b", "c"]
