"""The lines that differ between two versions of a skill."""

import pytest

from skillsv.api.line_edits import line_edits

BASE = b"# Words\n\n- one\n- two\n- three\n"


def edits(new, base=BASE):
    return [
        (edit["kind"], edit["base_lines"], edit["lines"], edit["at"], edit["text"], edit["new_text"])
        for edit in line_edits({"SKILL.md": base}, {"SKILL.md": new})
    ]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (b"# Words\n\n- one\n- three\n", ("deleted", (4, 4), None, 4, "- two", "")),
        (b"# Words\n\n- one\n- TWO\n- three\n", ("changed", (4, 4), (4, 4), 4, "- two", "- TWO")),
        (b"# Words\n\n- one\n- two\n- half\n- three\n", ("added", None, (5, 5), 5, "", "- half")),
        (b"# Words\n", ("deleted", (3, 5), None, 1, "- one", "")),
    ],
)
def test_changed_lines_have_kind_place_and_text(new, expected):
    assert edits(new) == [expected]


def test_blank_lines_are_no_change():
    assert edits(BASE.replace(b"- two", b"\n- two")) == []


def test_files_that_come_and_go_are_listed():
    found = list(line_edits({"a.md": b"one\n"}, {"b.md": b"two\n"}))
    assert [(edit["kind"], edit["file"]) for edit in found] == [("deleted", "a.md"), ("added", "b.md")]


def test_a_file_that_is_no_text_or_too_large_is_one_change():
    found = list(line_edits({"a.bin": b"\0one", "b.md": None}, {"a.bin": b"\0two", "b.md": b"two\n"}))
    assert [(edit["kind"], edit["file"]) for edit in found] == [("file", "a.bin"), ("file", "b.md")]
