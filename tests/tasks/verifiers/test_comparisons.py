"""Verifiers that compare the answer with the target: one table of examples each."""

from __future__ import annotations

import pytest

from skillsv.tasks.verifiers.comparisons import choice, contains, exact, json_equal, numeric


@pytest.mark.parametrize(
    ("target", "answer", "right"),
    [
        ("42", " 42\n", True),
        ("42", "42.", False),
        ("Paris", "paris", False),
        (["Paris", "Lutetia"], "Lutetia", True),
        (["Paris"], "Rome", False),
        (True, "true", True),
        (42, "42", True),
        (2.5, "2.5", True),
        (" padded ", "padded", True),
        ("x", "", False),
    ],
)
def test_exact(target, answer, right):
    assert exact(target)(answer) is right


@pytest.mark.parametrize(
    ("target", "answer", "right"),
    [
        ("42", "It is 42, I think", True),
        ("the END", "this is  The\n end.", True),
        ("43", "It is 42", False),
        (["a1", "b2"], "has b2", True),
        (["a1", "b2"], "has c3", False),
        ({"all": ["a1", "b2"]}, "b2 then a1", True),
        ({"all": ["a1", "b2"]}, "only a1", False),
        ({"all": ["a1"], "none": ["sorry"]}, "a1, sorry", False),
        ({"none": ["sorry"]}, "a1", True),
        ({"any": ["a1", "b2"], "all": ["c3"]}, "c3 b2", True),
        ({"any": ["a1", "b2"], "all": ["c3"]}, "c3", False),
        (7, "lucky 7", True),
        ("straße", "STRASSE", True),
    ],
)
def test_contains(target, answer, right):
    assert contains(target)(answer) is right


@pytest.mark.parametrize("target", ["", [], [""], [None], [["a"]], {"some": ["a"]}, {}])
def test_target_that_would_match_anything_is_refused(target):
    with pytest.raises(ValueError):
        contains(target)


@pytest.mark.parametrize(
    ("target", "answer", "right"),
    [
        (42, "42", True),
        (42, "The total is 42.", True),
        (42, "First 41, then 42", True),
        (42, "42, not 41", False),
        (1234.5, "$1,234.50", True),
        (1234.5, "-1,234.50", False),
        (-3, "it is −3 degrees", True),
        (5, "pages 3-5", True),
        (0.5, ".5", True),
        (1e6, "1e6", True),
        (12, "12%", True),
        ("3.14", "3.14", True),
        ([1, 2], "2", True),
        (42, "no number", False),
        (42, "", False),
        (0, "0", True),
        (0, "-0.0", True),
        (1, "version v1", False),
        (1 / 3, "0.3333333", True),
        (1 / 3, "0.333", False),
        (1e400, "1e400", None),
    ],
)
def test_numeric(target, answer, right):
    if right is None:
        with pytest.raises(ValueError):
            numeric(target)
    else:
        assert numeric(target)(answer) is right


@pytest.mark.parametrize(
    ("tolerance", "answer", "right"),
    [("0.5", "10.4", True), ("0.5", "10.6", False), ("5%", "10.4", True), ("5%", "11", False)],
)
def test_numeric_tolerance(tolerance, answer, right):
    assert numeric(10, tolerance)(answer) is right


@pytest.mark.parametrize("tolerance", ["x", "-1", "nan", "inf", "5%%"])
def test_invalid_tolerance_is_refused(tolerance):
    with pytest.raises(ValueError):
        numeric(10, tolerance)


@pytest.mark.parametrize("target", ["none", True, {"a": 1}, [[1]], 10**400, -(10**400), float("nan")])
def test_target_that_is_not_a_number_is_refused(target):
    with pytest.raises(ValueError):
        numeric(target)


@pytest.mark.parametrize(
    ("target", "answer", "right"),
    [
        ("B", "B", True),
        ("B", "b.", True),
        ("B", "(B)", True),
        ("(B)", "B", True),
        ("B", "Answer: B", True),
        ("B", "The answer is **B**.", True),
        ("B", "I considered A) first, but the correct option is (B).", True),
        ("B", r"so \boxed{B}", True),
        ("B", r"so \boxed{\text{B}}", True),
        ("B", "Answer: A\nOn reflection, answer: B", True),
        ("B", "Answer: A. B is wrong", False),
        ("B", "A. no\nB. yes", True),
        ("B", "A", False),
        ("B", "", False),
        ("B", "Because", False),
        ("yes", "Yes.", True),
        ("yes", "no", False),
        (["A", "C"], "C", True),
    ],
)
def test_choice(target, answer, right):
    assert choice(target)(answer) is right


@pytest.mark.parametrize(
    ("target", "answer", "right"),
    [
        ({"a": 1, "b": [2, 3]}, '{"b": [2, 3.0], "a": 1}', True),
        ({"a": 1}, 'Here it is:\n```json\n{"a": 1}\n```\nDone.', True),
        ({"a": 1}, 'The result {"a": 1} is right', True),
        ({"a": 1}, '{"a": true}', False),
        ({"a": 1}, '{"a": 1, "b": 2}', False),
        ({"a": 1}, "nothing", False),
        ({"a": 1}, "{broken", False),
        ([1, 2], "[2, 1]", False),
        ("x", '"x"', True),
        (None, "null", True),
        ({"a": 1}, "[" * 100_000, False),
    ],
)
def test_json(target, answer, right):
    assert json_equal(target)(answer) is right
