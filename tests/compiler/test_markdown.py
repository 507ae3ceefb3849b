"""Markdown: lines of a file, top-level blocks, and fenced code."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.compiler.markdown import (
    cut_lines,
    find_fences,
    is_blank,
    is_glued_rule,
    opening_fence,
    split_fences,
    top_blocks,
)

# Lines that open, continue and close every kind of block.
LINES = [
    *["", "", "", "text", "more text", "`code`", " one", "   three", "    four", "\tt", "\x0c", "\u2028", "\u00a0"],
    *["- a", "* b", "+ c", "-", "*", "1. x", "2) y", "10. z", "1.", "- [ ] task", "-\tt", "- \tt", "99999999999. x"],
    *["  cont", "  - n", "   - n3", "     - n5", "\t- n", "-     code", "- - -", "- ---", "- # h", "- > q"],
    *["# H", "## H2 ##", "###", "#nospace", "# a #b", "## \\#", "---", "***", "===", "  ---", "  ===", "  * * *"],
    *["```", "```py", "~~~", "  ```", "- ```", "``` a`b", "> q", ">", "> - a", "> ```"],
    *["<!-- c", "-->", "<!-- m -->", "<div>", "</div>", "<script>", "</script>", "<b>", "- <!-- x"],
    *["| a | b |", "|---|---|", "| 1 | 2 |", "| a |", "|-|", "[x]: /u", "[x]: /u 'a", "b'", "[y]:", "'t'"],
]
FORMS = {"paragraph", "fence", "code", "html", "table", "quote", "rule", "heading", "bullet", "ordered", "definition"}


def _forms(lines):
    return [(block.form, block.first, block.stop) for block in top_blocks(lines)]


@pytest.mark.heavy
@given(st.lists(st.sampled_from(LINES), max_size=40) | st.lists(st.text("-*+#>`~|<!= \t1.a:[]_\\", max_size=8)))
@settings(max_examples=600, deadline=None)
def test_blocks_cover_every_line_that_is_not_blank_once(lines):
    covered = []
    for block in top_blocks(lines):
        assert block.form in FORMS
        assert not is_blank(lines[block.stop - 1]) or block.stop == block.first + 1
        covered += range(block.first, block.stop)
    assert covered == sorted(set(covered))
    assert {index for index, line in enumerate(lines) if not is_blank(line)} <= set(covered)


@given(st.lists(st.sampled_from(LINES), max_size=14), st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_blocks_after_a_first_line_keep_their_line_numbers(lines, first):
    moved = [
        block._replace(first=block.first - first, stop=block.stop - first)
        for block in top_blocks([*["skipped"] * first, *lines], first)
    ]
    assert moved == top_blocks(lines)


@pytest.mark.parametrize(
    ("lines", "title", "level"),
    [
        (["# One"], "One", 1),
        (["### Three ###"], "Three", 3),
        (["## a #b"], "a #b", 2),
        (["##"], "", 2),
        (["Title", "==="], "Title", 1),
        (["Title", "---"], "Title", 2),
    ],
)
def test_headings_have_title_and_level(lines, title, level):
    (block,) = top_blocks(lines)
    assert (block.form, block.title, block.level) == ("heading", title, level)


@pytest.mark.parametrize(
    ("lines", "forms"),
    [
        (["one", "two", "---"], ["paragraph", "rule"]),
        (["one", "two", "   -----  "], ["paragraph", "rule"]),
        (["Wait for it.", "---"], ["paragraph", "rule"]),
        (["Wait for it,", "---", "then go"], ["paragraph", "rule", "paragraph"]),
        (["Acme Inc.", "---------"], ["heading"]),
        (["Title", "---"], ["heading"]),
        (["Notes:", "---"], ["heading"]),
        (["What is it?", "---"], ["heading"]),
        (["one", "two", "--"], ["heading"]),
        (["one", "two", "==="], ["heading"]),
        (["- one", "- two", "---"], ["bullet", "bullet", "rule"]),
    ],
)
def test_text_above_dashes_is_a_heading_only_if_it_may_be_a_title(lines, forms):
    assert [block.form for block in top_blocks(lines)] == forms
    if "bullet" not in forms:
        assert top_blocks(lines, underlined="heading")[0].form == "heading"


@given(st.lists(st.sampled_from(LINES), max_size=20))
@settings(max_examples=300, deadline=None)
def test_text_above_dashes_is_read_as_with_a_blank_line_between(lines):
    blocks = top_blocks(lines)
    glued = [rule.first for pair in pairwise(blocks) if is_glued_rule(*pair, lines) for rule in pair[1:]]
    spaced = list(lines)
    for line in reversed(glued):
        spaced.insert(line, "")
    moved = [_moved(block, glued) for block in blocks]
    assert moved == top_blocks(spaced, underlined="heading")


def _moved(block, glued):
    """The block after a blank line was inserted above each of the glued rules."""
    before = sum(line <= block.first for line in glued)
    return block._replace(first=block.first + before, stop=block.stop + before)


def test_items_end_where_commonmark_ends_them():
    lines = ["- a", "  more", "lazy", "", "text", "1. b", "", "   inside", "2) c"]
    assert _forms(lines) == [("bullet", 0, 3), ("paragraph", 4, 5), ("ordered", 5, 8), ("ordered", 8, 9)]


def test_lines_without_a_token_are_link_definitions():
    lines = ["[x]: /u", "[y]: /v", "", "text", "", "[z]: /w"]
    assert _forms(lines) == [("definition", 0, 2), ("paragraph", 3, 4), ("definition", 5, 6)]


def test_a_list_sixty_levels_deep_keeps_its_siblings():
    lines = [f"{'  ' * depth}- level {depth}" for depth in range(60)] + ["- sibling"]
    assert _forms(lines) == [("bullet", 0, 60), ("bullet", 60, 61)]


def test_lines_are_cut_at_cr_and_lf_only_and_the_bom_is_in_none():
    table = cut_lines(b"\xef\xbb\xbfa\r\nb\rc\x0bd\n\xe2\x80\xa8\xff")
    assert table.texts == ("a", "b", "c\x0bd", "\u2028�")
    assert table.starts == (3, 6, 8, 12, 16)


@pytest.mark.parametrize(
    ("line", "opening"),
    [
        ("```", ("", "```", "")),
        ("  ~~~~ py x ", ("  ", "~~~~", "py x")),
        ("- 1. ```sh", ("- 1. ", "```", "sh")),
        ("> ```", ("> ", "```", "")),
        ("~~~ a`b", ("", "~~~", "a`b")),
        ("``` a`b", None),
        ("text ```", None),
        ("``", None),
    ],
)
def test_lines_that_open_a_fence(line, opening):
    assert opening_fence(line) == opening


@pytest.mark.parametrize(
    ("lines", "ends"),
    [
        (["```", "x", "```", "y"], [(0, 3, True)]),
        (["```", "~~~", "``", "`````"], [(0, 4, True)]),
        (["````", "```", "x"], [(0, 3, False)]),
        (["- ```", "  x", "  ```", "- ~~~", "  y"], [(0, 3, True), (3, 5, False)]),
        (["> ```", "> x", "> ```"], [(0, 3, True)]),
        (["```", "    ```", "```"], [(0, 3, True)]),
    ],
)
def test_where_a_fence_ends(lines, ends):
    assert [(fence.first, fence.stop, fence.closed) for fence in find_fences(lines)] == ends


def test_fences_are_found_between_two_lines_only():
    lines = ["```", "x", "```", "text", "```", "y"]
    assert [(fence.first, fence.stop) for fence in find_fences(lines, 3, 5)] == [(4, 5)]


def test_prose_keeps_its_line_numbers_when_code_is_taken_out():
    prose, (first, second) = split_fences("a\n- b\n\n  ```{.Python, x}\n  c = 1\n    d\n  ```\ne\n~~~\nf")
    assert prose == "a\n- b\n\n\n\n\n\ne\n\n"
    assert (first.language, first.code, first.line) == ("python", "c = 1\n  d", 4)
    assert (second.language, second.code, second.line) == ("", "f", 9)
