"""Unit ids that stay the same across edits, and anchors as GitHub makes them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.compiler.names import Names, github_slug, heading_name, plain

BEFORE = "# T\n\nintro\n\n## A\n\n- one\n- two\n\n## B\n\ntext:\n\n- one\n"


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("intro", "another beginning\n\n- with a list"),
        BEFORE.replace("- one\n- two", "- zero\n- one\n- two"),
        f"---\nname: x\n---\n{BEFORE}",
        BEFORE.replace("\n", "\r\n"),
        BEFORE + "\n## C\n\nmore\n",
    ],
)
def test_an_edit_elsewhere_changes_no_id(compiled, after):
    old, new = compiled(BEFORE), compiled(after)
    unchanged = [unit for unit in old.execution if not unit.startswith("t/")]
    assert unchanged == [unit for unit in new.execution if unit in unchanged]
    assert len(unchanged) == 4


def test_identical_texts_under_one_heading_get_different_ids(compiled):
    first, second, third = compiled("- same\n- same\n- same\n").execution
    assert (second, third) == (f"{first}-2", f"{first}-3")


def test_the_id_of_a_resource_is_its_path(compiled):
    assert "scripts/run.py" in compiled({"SKILL.md": "x", "scripts/run.py": ""}).unit


def test_a_resource_does_not_get_the_id_of_the_trigger(compiled):
    skill = compiled({"SKILL.md": "x", "m": "file"})
    assert skill.unit["m"].kind == "trigger"
    assert skill.unit["m-2"].file == "m"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Set up", "set-up"),
        ("What's *new* in `v2.0`?", "whats-new-in-v20"),
        ("A & B", "a--b"),
        ("snake_case name", "snake_case-name"),
        ("[Link](x.md) text", "link-text"),
        ("中文 标题", "中文-标题"),
    ],
)
def test_anchors_match_those_of_github(title, slug):
    assert github_slug(title) == slug


@pytest.mark.parametrize(("title", "name"), [("A / B!", "a-b"), ("", "top"), ("x" * 60, "x" * 40)])
def test_headings_in_ids_are_short_lower_case_words(title, name):
    assert heading_name(title) == name


def test_a_heading_without_latin_letters_becomes_a_hash():
    assert heading_name("标题").startswith("h-")
    assert heading_name("标题") != heading_name("其他")


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.binary(max_size=2)), max_size=30))
@settings(max_examples=100)
def test_ids_are_unique(parts):
    names = Names("m")
    ids = [names.body(heading, "bullet", content) for heading, content in parts]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("text", "bare"),
    [("**Read** [this](x.md)", "Read this"), ("![pic](a.png) _so_", "pic so"), ("a_b * c", "a_b  c"), ("[[x]]", "[x]")],
)
def test_plain_removes_inline_markup(text, bare):
    assert plain(text) == bare
