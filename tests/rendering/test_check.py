"""Checks of renderings: injected errors in the bytes, and units that Markdown reads as another kind of block."""

from __future__ import annotations

import pytest

from skillsv.errors import SkillSVError
from skillsv.model.coalition import Operator
from skillsv.rendering import Renderer
from skillsv.rendering.check import BLANK, filler_pattern, read_blocks, verify
from skillsv.rendering.document import cut_document, delete_absent, join_parts
from skillsv.rendering.padding import FILLERS
from skillsv.rendering.renderer import Coalitions

HEAD = ("m", 0, b"---\nname: x\n---\n")


@pytest.fixture
def case(small):
    coalitions = Coalitions(small)
    document = cut_document(small, small.skill.main, coalitions.bits)
    kept = coalitions.to_bits(frozenset({"m", "intro"}))
    return document, kept, delete_absent(document, kept)


def test_a_correct_rendering_passes(case):
    document, kept, parts = case
    assert verify(document, kept, parts, join_parts(parts), BLANK) is None


def test_a_changed_byte_is_an_error(case):
    document, kept, parts = case
    with pytest.raises(SkillSVError, match="changed bytes"):
        verify(document, kept, parts, join_parts(parts).replace(b"first", b"FIRST"), BLANK)


def test_a_missing_slice_is_an_error(case):
    document, kept, parts = case
    with pytest.raises(SkillSVError, match="wrong piece"):
        verify(document, kept, parts[:-1], join_parts(parts[:-1]), BLANK)


def test_added_bytes_are_an_error(case):
    document, kept, parts = case
    with pytest.raises(SkillSVError, match="belong to nothing"):
        verify(document, kept, parts, join_parts(parts) + b"more", BLANK)
    added = [*parts, (None, b"more\n")]
    with pytest.raises(SkillSVError, match="changed bytes"):
        verify(document, kept, added, join_parts(added), BLANK)


def test_filler_is_allowed_only_under_padding(case):
    document, kept, parts = case
    filled = [*parts, (None, b"- blank blank\n blank\n")]
    verify(document, kept, filled, join_parts(filled), filler_pattern(FILLERS["blank"]))
    with pytest.raises(SkillSVError):
        verify(document, kept, filled, join_parts(filled), BLANK)
    with pytest.raises(SkillSVError):
        verify(document, kept, filled, join_parts(filled), filler_pattern(FILLERS["dots"]))


def test_an_error_in_long_filler_is_found_fast(case):
    document, kept, parts = case
    filled = [*parts, (None, b" ." * 50_000 + b"x\n")]
    with pytest.raises(SkillSVError):
        verify(document, kept, filled, join_parts(filled), filler_pattern(FILLERS["dots"]))


def flags(make, pieces, kept, operator=Operator.DELETE, parents=(None, 0)):
    compiled = make([HEAD, *pieces], parents=parents)
    return Renderer(compiled).render(frozenset({"m", *kept}), operator).flags


def test_a_paragraph_before_a_rule_becomes_a_heading(make):
    pieces = [("a", 1, b"Text.\n"), ("b", 1, b"- item\n"), ("=", 1, b"---\n"), ("~", 1, b"\n"), ("c", 1, b"End.\n")]
    assert flags(make, pieces, ["a", "c"]) == ("changed-kind:a",)
    assert flags(make, pieces, ["a", "b", "c"]) == ()


def test_two_neighbouring_paragraphs_become_one(make):
    pieces = [("a", 1, b"One.\n"), ("b", 1, b"```\ncode\n```\n"), ("c", 1, b"Two.\n")]
    assert flags(make, pieces, ["a", "c"]) == ("changed-kind:c",)


def test_an_indented_block_becomes_part_of_an_item(make):
    pieces = [("a", 1, b"- item\n"), ("~", 1, b"\n"), ("b", 1, b"Text.\n"), ("~", 1, b"\n"), ("c", 1, b"    code\n")]
    assert flags(make, pieces, ["a", "c"]) == ("changed-kind:c",)
    assert flags(make, pieces, ["b", "c"]) == ()


def test_units_after_a_changed_unit_are_flagged_too(make):
    pieces = [("a", 1, b"Text.\n"), ("b", 1, b"1. one\n"), ("c", 1, b"2. two\n"), ("d", 1, b"3. three\n")]
    assert flags(make, pieces, ["a", "c", "d"]) == ("changed-kind:c", "changed-kind:d")


def test_two_lists_that_become_one_are_no_change(make):
    pieces = [("a", 1, b"- one\n"), ("~", 1, b"\n"), ("b", 1, b"Text.\n"), ("~", 1, b"\n"), ("c", 1, b"- two\n")]
    assert flags(make, pieces, ["a", "c"]) == ()


@pytest.mark.parametrize("kept", [["c"], ["b", "c"], ["a", "c"]])
def test_padded_items_keep_the_list(make, kept):
    pieces = [("a", 1, b"1. one\n"), ("b", 1, b"2. two\n"), ("c", 1, b"3. three\n")]
    assert flags(make, pieces, kept, Operator.PAD) == ()


def test_blocks_are_assigned_to_texts_with_any_line_end():
    for end in (b"\n", b"\r\n", b"\r"):
        first, second = read_blocks([b"# A" + end, b"text" + end])
        assert {kind for kind, _, _ in first} == {"heading_open", "inline"}
        assert {(kind, line) for kind, line, _ in second} == {("paragraph_open", 0), ("inline", 0)}


def test_the_check_can_be_switched_off(make):
    compiled = make([HEAD, ("a", 1, b"One.\n"), ("b", 1, b"```\ncode\n```\n"), ("c", 1, b"Two.\n")])
    assert Renderer(compiled, check=False).render(frozenset({"m", "a", "c"}), Operator.DELETE).flags == ()
