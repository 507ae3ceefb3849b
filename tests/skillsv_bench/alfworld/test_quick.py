"""Expressions in a game's grammar: those of upstream are read, code is refused. The rest is compared on real games."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from skillsv_bench.alfworld.quick import _evaluated, _predicates

CUP = SimpleNamespace(name="cup 1", indefinite="a", id="Cup|1")
BARE = SimpleNamespace(name="", indefinite="a", id="Bowl|2")


def said(expression: str) -> str:
    symbol = SimpleNamespace(expression=expression, context={"variables": {"o": CUP, "r": BARE}})
    [text] = _evaluated(str)(symbol)
    return text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("o.indefinite + ' ' + o.name", "a cup 1"),
        (" o.name ", "cup 1"),
        ("o.name or o.id", "cup 1"),
        ("r.name or r.id", "Bowl|2"),
        ("'shelf'", "shelf"),
    ],
)
def test_names_texts_and_their_sums(expression, text):
    assert said(expression) == text


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').getcwd()",
        "o.__class__",
        "open('x')",
        "[o for o in (1,)]",
        "o.name * 9",
        "(lambda: 1)()",
        "o['name']",
    ],
)
def test_anything_else_is_refused(expression):
    with pytest.raises(ValueError, match="not one of names and texts"):
        said(expression)


def test_which_facts_a_phrase_depends_on():
    assert _predicates("take {o} from {r}") == ()
    assert _predicates("go to [{r.name | at(r:place, l:spot) & not_open(r:place)}]") == ("at", "open")
    assert _predicates("#look.feedback#") is None
