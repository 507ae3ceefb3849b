"""Frontmatter: where it begins and ends, and what is read of it."""

from __future__ import annotations

import pytest

from skillsv.compile.frontmatter import frontmatter_end, read_manifest


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        (["---", "name: x", "---", "text"], 3),
        (["---", "name: x", "...", "text"], 3),
        (["---", "---"], 2),
        (["---", "name: x"], 0),
        (["--- ", "name: x", "---"], 0),
        (["", "---", "name: x", "---"], 0),
        (["----", "---"], 0),
        (["---", " ---", "---"], 3),
        ([], 0),
    ],
)
def test_where_it_ends(lines, end):
    assert frontmatter_end(lines) == end


def test_fields_are_text_and_lists_of_text():
    manifest = read_manifest(["name: demo", "count: 3", "examples:", "  - a.md", "  - b.md", "meta:", "  k: v"])
    assert manifest.problem is None
    assert manifest.fields["name"] == "demo"
    assert manifest.fields["count"] == "3"
    assert manifest.fields["examples"] == ("a.md", "b.md")


def test_tags_are_not_executed():
    manifest = read_manifest(["name: !!python/object/apply:os.system ['true']"])
    assert manifest.fields == {"name": ("true",)}


@pytest.mark.parametrize(
    ("lines", "line"), [(["name: [x"], 3), (["a: b", "c: d: e"], 3), (["\tname: x"], 2), (["a: *unknown"], 2)]
)
def test_what_does_not_parse_is_told_with_its_line(lines, line):
    manifest = read_manifest(lines)
    assert manifest.problem
    assert manifest.line == line


def test_empty_frontmatter_is_no_problem():
    assert read_manifest([]).problem is None
