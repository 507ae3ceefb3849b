"""Frontmatter: where it ends, and what is read of it."""

from __future__ import annotations

import pytest

from skillsv.model.frontmatter import MAX_CHARACTERS, frontmatter_end, read_frontmatter


def read(*lines: str):
    return read_frontmatter(["---", *lines, "---", "text"])


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
def test_the_end_is_the_first_closing_delimiter(lines, end):
    assert frontmatter_end(lines) == end
    assert read_frontmatter(lines).lines == end


def test_entries_have_key_line_kind_and_value():
    frontmatter = read("name: demo", "count: 3", "examples:", "  - a.md", "  - b.md", "  - [c]", "meta:", "  k: v")
    assert frontmatter.problem is None
    assert [entry[:4] for entry in frontmatter.entries] == [
        ("name", 2, "scalar", "demo"),
        ("count", 3, "scalar", "3"),
        ("examples", 4, "list", ("a.md", "b.md")),
        ("meta", 8, "mapping", ()),
    ]


def test_values_are_the_texts_under_a_key():
    frontmatter = read("one: a.md", "many: [a.md, 3]", "meta: {k: v}")
    keys = ("one", "many", "meta", "missing")
    assert [frontmatter.values(key) for key in keys] == [("a.md",), ("a.md", "3"), (), ()]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("name: demo", "demo"),
        ("name: ' demo '", "demo"),
        ("name: '7'", "7"),
        ("name: 7", None),
        ("name: true", None),
        ("name: 2024-01-01", None),
        ("name:", None),
        ("name: ''", None),
        ("name: [demo]", None),
        ("title: demo", None),
    ],
)
def test_name_and_description_are_strings_or_none(line, name):
    assert read(line).name == name
    assert read(line.replace("name", "description")).description == name


def test_the_last_of_two_equal_keys_counts():
    assert read("name: first", "name: second").name == "second"


def test_tags_are_not_executed():
    (entry,) = read("name: !!python/object/apply:os.system ['true']").entries
    assert entry.value == ("true",)


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["name: [x"], 3),
        (["a: b", "c: d: e"], 3),
        (["\tname: x"], 2),
        (["a: *unknown"], 2),
        (["- a list"], 2),
        ([f"name: {'x' * MAX_CHARACTERS}"], 1),
    ],
)
def test_a_problem_is_reported_with_its_line(lines, line):
    frontmatter = read(*lines)
    assert frontmatter.problem
    assert frontmatter.problem_line == line
    assert frontmatter.entries == ()
    assert frontmatter.name is None


def test_empty_frontmatter_is_not_a_problem():
    assert read().problem is None
    assert read().lines == 2
