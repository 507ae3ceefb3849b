"""Windows and shortcuts give the very blocks that one parse of everything gives."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.compile import markdown as module
from skillsv.compile.markdown import parse_whole, top_blocks

# Lines chosen to open, continue and close every kind of block, next to each other in every way.
LINES = [
    *["", "", "", "text", "more text", "`code`", " one", "   three", "    four", "\tt", "\x0c", "\u2028", "\u00a0"],
    *["- a", "* b", "+ c", "-", "*", "1. x", "2) y", "10. z", "1.", "- [ ] task", "-\tt", "- \tt", "99999999999. x"],
    *["  cont", "  - n", "   - n3", "     - n5", "\t- n", "-     code", "- - -", "- ---", "- # h", "- > q"],
    *["# H", "## H2 ##", "###", "#nospace", "# a #b", "## \\#", "---", "***", "===", "  ---", "  ===", "  * * *"],
    *["```", "```py", "~~~", "  ```", "- ```", "``` a`b", "> q", ">", "> - a", "> ```"],
    *["<!-- c", "-->", "<!-- m -->", "<div>", "</div>", "<script>", "</script>", "<b>", "- <!-- x"],
    *["| a | b |", "|---|---|", "| 1 | 2 |", "| a |", "|-|", "[x]: /u", "[x]: /u 'a", "b'", "[y]:", "'t'"],
]


def _essence(found):
    return [(one.form, one.first, one.stop, one.text if one.form == "heading" else "", one.level) for one in found]


@given(st.lists(st.sampled_from(LINES), max_size=14))
@settings(max_examples=600, deadline=None)
def test_short_documents_have_the_blocks_of_the_whole_parse(lines):
    assert _essence(top_blocks(lines)) == _essence(parse_whole(lines))


@given(st.lists(st.sampled_from(LINES), min_size=60, max_size=140))
@settings(max_examples=60, deadline=None)
def test_documents_longer_than_a_window_have_the_blocks_of_the_whole_parse(lines):
    assert _essence(top_blocks(lines)) == _essence(parse_whole(lines))


@given(st.lists(st.text(alphabet="-*+#>`~|<!= \t1.a:[]_\\", max_size=8), max_size=8))
@settings(max_examples=400, deadline=None)
def test_any_text_has_the_blocks_of_the_whole_parse(lines):
    assert _essence(top_blocks(lines)) == _essence(parse_whole(lines))


def test_every_skill_of_the_corpus_has_the_blocks_of_the_whole_parse(corpus):
    for folder in corpus:
        lines = (folder / "SKILL.md").read_text(encoding="utf-8", errors="replace").split("\n")
        assert _essence(top_blocks(lines)) == _essence(parse_whole(lines)), folder.name


def test_a_long_list_is_never_given_to_the_parser_in_one_go(monkeypatch):
    sizes = []
    original = module._parse
    monkeypatch.setattr(module, "_parse", lambda lines: sizes.append(len(lines)) or original(lines))
    lines = [line for index in range(2000) for line in (f"- item {index}", "lazy continuation")]
    assert len(top_blocks(lines)) == 2000
    assert max(sizes) <= 4


def test_a_list_sixty_deep_keeps_its_siblings():
    lines = [f"{'  ' * depth}- level {depth}" for depth in range(60)] + ["- sibling"]
    assert [(one.first, one.stop) for one in top_blocks(lines)] == [(0, 60), (60, 61)]
    assert _essence(top_blocks(lines)) == _essence(parse_whole(lines))


def test_an_unclosed_fence_is_parsed_a_bounded_number_of_times(monkeypatch):
    parsed = []
    original = module._parse
    monkeypatch.setattr(module, "_parse", lambda lines: parsed.append(len(lines)) or original(lines))
    lines = ["<!-- open", *(line for _ in range(3000) for line in ("", "text"))]
    assert len(top_blocks(lines)) == 1
    assert sum(parsed) < 4 * len(lines)
