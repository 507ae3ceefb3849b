"""Survivors that Markdown reads as something else once their neighbours are gone."""

from __future__ import annotations

import pytest

from skillsv.model.coalition import Operator
from skillsv.render import Renderer
from skillsv.render.check import readings

HEAD = ("m", 0, b"---\nname: x\n---\n")


def flags(make, pieces, kept, operator=Operator.DELETE, parents=(None, 0)):
    compiled = make([HEAD, *pieces], parents=parents)
    return Renderer(compiled).render(frozenset({"m", *kept}), operator).flags


def test_a_paragraph_before_a_rule_becomes_a_heading(make):
    pieces = [("a", 1, b"Text.\n"), ("b", 1, b"- item\n"), ("=", 1, b"---\n"), ("~", 1, b"\n"), ("c", 1, b"End.\n")]
    assert flags(make, pieces, ["a", "c"]) == ("changed-kind:a",)
    assert flags(make, pieces, ["a", "b", "c"]) == ()


def test_two_paragraphs_run_together(make):
    pieces = [("a", 1, b"One.\n"), ("b", 1, b"```\ncode\n```\n"), ("c", 1, b"Two.\n")]
    assert flags(make, pieces, ["a", "c"]) == ("changed-kind:c",)


def test_an_indented_block_becomes_part_of_an_item(make):
    pieces = [("a", 1, b"- item\n"), ("~", 1, b"\n"), ("b", 1, b"Text.\n"), ("~", 1, b"\n"), ("c", 1, b"    code\n")]
    assert flags(make, pieces, ["a", "c"]) == ("changed-kind:c",)
    assert flags(make, pieces, ["b", "c"]) == ()


def test_what_a_changed_survivor_changes_is_named_too(make):
    pieces = [("a", 1, b"Text.\n"), ("b", 1, b"1. one\n"), ("c", 1, b"2. two\n"), ("d", 1, b"3. three\n")]
    assert flags(make, pieces, ["a", "c", "d"]) == ("changed-kind:c", "changed-kind:d")


def test_lists_that_join_are_no_change(make):
    pieces = [("a", 1, b"- one\n"), ("~", 1, b"\n"), ("b", 1, b"Text.\n"), ("~", 1, b"\n"), ("c", 1, b"- two\n")]
    assert flags(make, pieces, ["a", "c"]) == ()


@pytest.mark.parametrize("kept", [["c"], ["b", "c"], ["a", "c"]])
def test_padded_items_keep_the_list(make, kept):
    pieces = [("a", 1, b"1. one\n"), ("b", 1, b"2. two\n"), ("c", 1, b"3. three\n")]
    assert flags(make, pieces, kept, Operator.PAD) == ()


def test_readings_are_split_by_line_whatever_the_line_end():
    for end in (b"\n", b"\r\n", b"\r"):
        first, second = readings([b"# A" + end, b"text" + end])
        assert {kind for kind, _, _ in first} == {"heading_open", "inline"}
        assert {(kind, line) for kind, line, _ in second} == {("paragraph_open", 0), ("inline", 0)}


def test_the_check_can_be_left_out(make):
    compiled = make([HEAD, ("a", 1, b"One.\n"), ("b", 1, b"```\ncode\n```\n"), ("c", 1, b"Two.\n")])
    assert Renderer(compiled, check=False).render(frozenset({"m", "a", "c"}), Operator.DELETE).flags == ()
