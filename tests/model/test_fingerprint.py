"""Endings of fingerprints and digests."""

from skillsv.model.fingerprint import agrees, ending, extend, first_part


def test_without_inputs_the_first_part_stays_byte_for_byte():
    assert extend("command/1:abc", []) == "command/1:abc"
    assert ending("command/1:abc") == ""


def test_inputs_give_an_ending_that_can_be_taken_off():
    text = extend("command/1:abc", ["variable A 1"])
    assert first_part(text) == "command/1:abc"
    assert text == first_part(text) + ending(text)
    assert ending(text).startswith("+2:")


def test_endings_tell_apart_how_inputs_are_split():
    assert (
        len({extend("a", ["x", "y"]), extend("a", ["xy"]), extend("a", ["y", "x"]), extend("a", ["x", "y", ""])}) == 4
    )


def test_a_recorded_digest_of_an_earlier_version_agrees_with_any_ending():
    assert agrees(extend("a", ["x"]), "a")
    assert agrees(extend("a", ["x"]), extend("a", ["x"]))
    assert not agrees(extend("a", ["x"]), extend("a", ["y"]))
    assert not agrees("a", extend("a", ["y"]))
    assert not agrees("a", "b")
