"""Filler in the language of the file: it keeps the count, and loading it does nothing."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.render import FILLERS, token_counter
from skillsv.render.comments import ELEMENT, HASH, MARKUP, PLAIN, SHAPES, SLASHES, STRINGS, markdown_shape, shape_of
from skillsv.render.padding import Padder

COUNT = token_counter("o200k")


def count(data):
    return COUNT(data.decode())


@pytest.mark.parametrize(
    ("path", "data", "shape"),
    [
        ("a/run.py", b"", HASH),
        ("Makefile", b"", HASH),
        ("x.TS", b"", SLASHES),
        ("x.json", b"", STRINGS),
        ("x.svg", b"", ELEMENT),
        ("x.html", b"", MARKUP),
        ("notes.md", b"", PLAIN),
        ("x.csv", b"", PLAIN),
        ("run", b"#!/usr/bin/env python3\n", HASH),
        ("run", b"#!/usr/bin/env node\n", SLASHES),
        ("README", b"words", PLAIN),
    ],
)
def test_the_name_or_the_first_line_decides(path, data, shape):
    assert shape_of(path, data) is shape


def test_a_padded_list_item_keeps_its_marker_and_line_end():
    assert (markdown_shape(b"12. Do it\r\n").open, markdown_shape(b"12. Do it\r\n").close) == ("12.", "\r\n")
    assert markdown_shape(b"- x").close == ""
    assert markdown_shape(b"**bold** text\n").open == ""
    assert markdown_shape(b"-not an item\n").open == ""


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300), st.sampled_from(sorted(set(SHAPES))), st.sampled_from(sorted(FILLERS)))
def test_padded_files_have_the_same_count_or_none_exists(text, suffix, filler):
    data = text.encode("utf-8", "ignore")
    padded = Padder(FILLERS[filler], count).file(data, shape_of(f"x.{suffix}", data))
    assert padded is None or count(padded) == count(data)
    if count(data) >= 8:
        assert padded is not None


def test_an_empty_file_stays_empty():
    assert Padder(FILLERS["blank"], count).file(b"", HASH) == b""


@pytest.mark.parametrize(("suffix", "command"), [("sh", ["sh", "-n"]), ("js", ["node", "--check"])])
def test_padded_programs_parse(tmp_path, suffix, command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    original = b"set -e\necho one two three\nfor f in *; do echo $f; done\n"
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(Padder(FILLERS["sentences"], count).file(original, shape_of(path.name, original)))
    assert subprocess.run([*command, str(path)], check=False, capture_output=True).returncode == 0
