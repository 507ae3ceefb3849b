"""Bytes become lines and columns in the three encodings of the protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.lsp.positions import Position, Positions
from skillsv.model.skill import Span

TEXT = "# Größe 😀 end\r\n\fé\u2028😀x\rlast"


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 18), ("utf-16", 14), ("utf-32", 13)])
def test_columns_count_what_client_and_server_agreed_on(encoding, column):
    assert Positions(TEXT, encoding).line_end(0) == Position(0, column)


def test_lines_end_at_line_ends_only():
    positions = Positions(TEXT)
    assert positions.lines == 3, "a form feed and U+2028 end no line"
    assert positions.of_byte(TEXT.encode().index(b"last")) == Position(2, 0)
    assert positions.of_byte(TEXT.encode().index(b"x\rlast")) == Position(1, 5), "U+1F600 counts two"


def test_a_line_beyond_the_text_is_its_last_line():
    assert Positions("a\nbc").line_end(9) == Position(1, 2)
    assert Positions("").line_end(0) == Position(0, 0)


@given(st.text(alphabet=st.sampled_from("a\r\né😀\u2028"), max_size=20), st.data())
def test_a_span_cuts_what_an_editor_cuts(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    if text[:start].endswith("\r") and text[start:].startswith("\n"):
        return  # no unit begins inside a line end
    if text[:end].endswith("\r") and text[end:].startswith("\n"):
        return
    span = Span(len(text[:start].encode()), len(text[:end].encode()))
    assert cut(text, *Positions(text).of_span(span)) == text[start:end]


def cut(text, start, end):
    """The text between two positions, as an editor that counts UTF-16 units reads them."""
    units, found, line, column, number = text.encode("utf-16-le"), b"", 0, 0, 0
    while number <= len(units) // 2:
        if start <= (line, column) < end:
            found += units[2 * number : 2 * number + 2]
        unit, following = units[2 * number : 2 * number + 2], units[2 * number + 2 : 2 * number + 4]
        ends = unit == b"\n\0" or (unit == b"\r\0" and following != b"\n\0")
        line, column = (line + 1, 0) if ends else (line, column + 1)
        number += 1
    return found.decode("utf-16-le")
