import pytest

from skillsv.decide.duplicates import find_redundant, spare_redundant

SAME = "Read every part of the request before acting on any of it."


@pytest.mark.parametrize(
    "other",
    [SAME, SAME.upper(), f"Once more: {SAME.lower()}", "- Read every part of the request before acting on any of it"],
)
def test_the_same_words_are_twins(other):
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
def test_other_numbers_negations_and_subjects_are_not(one, other):
    assert find_redundant({"a": one, "b": other}) == []


def test_the_more_valuable_twin_stays_and_of_equals_the_shorter():
    found = find_redundant({"a": SAME, "b": SAME})
    tokens = {"a": 12, "b": 12}
    assert spare_redundant(found, {"a": 0.1, "b": 0.3}, tokens, resolution=0.02) == ["a"]
    assert spare_redundant(found, {"a": 0.3, "b": 0.1}, tokens, resolution=0.02) == ["b"]
    assert spare_redundant(found, {"a": 0.1, "b": 0.11}, {"a": 15, "b": 12}, resolution=0.02) == ["a"]


def test_of_three_alike_one_stays():
    found = find_redundant({"a": SAME, "b": SAME, "c": SAME})
    going = spare_redundant(found, {"a": 0.3, "b": 0.2, "c": 0.1}, dict.fromkeys("abc", 12), resolution=0.0)
    assert sorted(going) == ["b", "c"]
