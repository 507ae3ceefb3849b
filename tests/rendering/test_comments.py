"""Comment styles: the style of each file, and padded files with the same count that can be loaded."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.rendering import FILLERS, token_counter
from skillsv.rendering.comments import (
    ELEMENT,
    HASH,
    MARKUP,
    PLAIN,
    SLASHES,
    STRINGS,
    STYLES,
    comment_style,
    markdown_style,
)
from skillsv.rendering.padding import Padder

COUNT = token_counter("o200k")


def count(data):
    return COUNT(data.decode())


@pytest.mark.parametrize(
    ("path", "data", "style"),
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
def test_the_name_or_the_first_line_decides_the_style(path, data, style):
    assert comment_style(path, data) is style


def test_a_padded_list_item_keeps_its_marker_and_line_end():
    assert (markdown_style(b"12. Do it\r\n").open, markdown_style(b"12. Do it\r\n").close) == ("12.", "\r\n")
    assert markdown_style(b"- x").close == ""
    assert markdown_style(b"**bold** text\n").open == ""
    assert markdown_style(b"-not an item\n").open == ""


@pytest.mark.heavy
@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300), st.sampled_from(sorted(set(STYLES))), st.sampled_from(sorted(FILLERS)))
def test_a_padded_file_has_the_same_count_if_one_exists(text, suffix, filler):
    data = text.encode("utf-8", "ignore")
    padded = Padder(FILLERS[filler], count).pad_file(data, comment_style(f"x.{suffix}", data))
    assert padded is None or count(padded) == count(data)
    if count(data) >= 8:
        assert padded is not None


def test_an_empty_file_stays_empty():
    assert Padder(FILLERS["blank"], count).pad_file(b"", HASH) == b""


@pytest.mark.parametrize(("suffix", "command"), [("sh", ["sh", "-n"]), ("js", ["node", "--check"])])
def test_padded_programs_parse(tmp_path, suffix, command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    original = b"set -e\necho one two three\nfor f in *; do echo $f; done\n"
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(Padder(FILLERS["sentences"], count).pad_file(original, comment_style(path.name, original)))
    assert subprocess.run([*command, str(path)], check=False, capture_output=True).returncode == 0
