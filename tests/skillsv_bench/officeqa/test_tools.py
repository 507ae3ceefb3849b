"""The three tools: what they give, where they stop, and that nothing else can be read."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillsv_bench.conversation import ToolCall
from skillsv_bench.officeqa.tools import TOOLS, DocumentStore


@pytest.fixture
def documents(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("the secret")
    (folder / "unlisted.txt").write_text("the secret")
    (folder / "a_1954.txt").write_text("".join(f"line {number} Salt\r\n" for number in range(1, 101)))
    (folder / "b_1955.txt").write_bytes(b"x" * 9_000 + b"\n\xff pepper\n")
    return DocumentStore({name: folder / name for name in ("a_1954.txt", "b_1955.txt")})


def call(documents, tool, **arguments):
    return documents.call(ToolCall(id="1", tool=tool, arguments=arguments))


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*", "a_1954.txt\nb_1955.txt"),
        ("*1955*", "b_1955.txt"),
        ("A_*.TXT", "a_1954.txt"),
        ("[ab]_*", "a_1954.txt\nb_1955.txt"),
    ],
)
def test_glob_lists_names(documents, pattern, names):
    assert call(documents, "glob", pattern=pattern) == names


def test_glob_gives_fifty_names_at_most(tmp_path):
    documents = DocumentStore({f"{number:03}.txt": tmp_path / "x" for number in range(60)})
    assert call(documents, "glob", pattern="*").splitlines() == [f"{number:03}.txt" for number in range(50)]


def test_read_gives_a_window_of_lines(documents):
    assert call(documents, "read", path="a_1954.txt", start=3, limit=2) == "line 3 Salt\r\nline 4 Salt\r\n"
    assert call(documents, "read", path="a_1954.txt").count("\n") == 80
    assert call(documents, "read", path="a_1954.txt", start="99").count("\n") == 2  # a number written as text will do
    assert call(documents, "read", path="a_1954.txt", start=101) == "nothing: the document has 100 lines"


def test_read_gives_four_thousand_characters_at_most(documents):
    assert call(documents, "read", path="b_1955.txt") == "x" * 4_000


def test_grep_is_literal_and_blind_to_case(documents):
    assert call(documents, "grep", literal="7 sALT", path="a_1954.txt").splitlines()[:2] == [
        "7: line 7 Salt",
        "17: line 17 Salt",
    ]
    assert call(documents, "grep", literal="line .", path="a_1954.txt") == "no line holds this text"
    assert call(documents, "grep", literal="pepper", path="b_1955.txt") == "2: \N{REPLACEMENT CHARACTER} pepper"


def test_grep_gives_twenty_lines_at_most(documents):
    assert len(call(documents, "grep", literal="line", path="a_1954.txt").splitlines()) == 20


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "unlisted.txt",
        "./a_1954.txt/../unlisted.txt",
        "/etc/hostname",
        "",
        ".",
        "..",
        "a_1954.txt\0",
        "*",
        "a_1954.txt/",
    ],
)
@pytest.mark.parametrize("tool", ["read", "grep"])
def test_nothing_but_the_documents_can_be_read(documents, tool, path):
    told = call(documents, tool, path=path, **({"literal": "e"} if tool == "grep" else {}))
    assert told.startswith("error: there is no document ")
    assert "secret" not in told.replace(repr(path), "")


PARTS = st.sampled_from(["..", ".", "/", "a.txt", "b", "secret.txt", "\0", "~", "*", "\\\\", "file:"])


@given(path=st.lists(PARTS, max_size=6).map("".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_leads_out(tmp_path, path):
    (tmp_path / "secret.txt").write_text("gold")
    (tmp_path / "b").mkdir(exist_ok=True)
    (tmp_path / "b" / "a.txt").write_text("open")
    documents = DocumentStore({"a.txt": tmp_path / "b" / "a.txt"})
    told = call(documents, "read", path=path)
    assert told == "open" if path == "a.txt" else told.startswith("error: there is no document")


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "**/*", "unlisted*"])
def test_glob_does_not_leave_the_documents(documents, pattern):
    assert call(documents, "glob", pattern=pattern) == "no document has such a name"


def test_a_link_or_a_pipe_in_the_place_of_a_document_is_not_read(documents, tmp_path):
    place = tmp_path / "work" / "a_1954.txt"
    place.unlink()
    place.symlink_to(tmp_path / "secret.txt")
    assert call(documents, "read", path="a_1954.txt").startswith("error: a_1954.txt cannot be read")
    place.unlink()
    os.mkfifo(place)
    assert call(documents, "read", path="a_1954.txt") == "error: a_1954.txt is not a file."
    place.unlink()
    assert call(documents, "grep", literal="x", path="a_1954.txt").startswith("error: a_1954.txt cannot be read")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {}),
        ("read", {"path": 3}),
        ("read", {"path": "a_1954.txt", "start": 0}),
        ("read", {"path": "a_1954.txt", "limit": "many"}),
        ("grep", {"path": "a_1954.txt", "literal": ""}),
        ("grep", {"path": "a_1954.txt"}),
        ("glob", {}),
    ],
)
def test_arguments_that_cannot_be_used_are_answered(documents, tool, arguments):
    assert call(documents, tool, **arguments).startswith(f"error: the arguments of {tool} cannot be used")


def test_unknown_tools_and_unreadable_arguments_are_answered(documents):
    assert call(documents, "rm", path="x") == "error: there is no tool rm. There are: glob, read, grep."
    broken = ToolCall(id="1", tool="read", error="the arguments are not a JSON object.")
    assert documents.call(broken) == "error: the arguments are not a JSON object."


def test_models_are_told_of_the_three_tools():
    assert [(tool.name, tool.parameters["required"]) for tool in TOOLS] == [
        ("glob", ["pattern"]),
        ("read", ["path"]),
        ("grep", ["literal", "path"]),
    ]
    assert all(tool.description and tool.parameters["type"] == "object" for tool in TOOLS)
