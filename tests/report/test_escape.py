import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from skillsv.report.escape import clip, clip_lines, escape_line, escape_text, is_binary, shorten

ANY_TEXT = st.text(st.characters(min_codepoint=0, max_codepoint=0x3000), max_size=60) | st.text(
    st.sampled_from("\x1b\x00\r\n\t\u202e\u2066\x9b\ud800\x7fab<>&")
)


@given(ANY_TEXT)
def test_escaped_text_has_no_control_or_direction_characters(text):
    for char in escape_text(text):
        assert char in "\t\n" or unicodedata.category(char) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(char) not in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(ANY_TEXT)
def test_escaping_twice_changes_nothing(text):
    assert escape_text(escape_text(text)) == escape_text(text)


def test_control_characters_become_symbols():
    assert escape_text("\x1b[31mred\u202e!\r\nnext\x00") == "␛[31mred⟨U+202E⟩!\nnext␀"


def test_clipped_text_says_how_much_is_missing():
    assert clip("x" * 1_000_000, 10) == "xxxxxxxxxx… (999,990 more characters)"
    assert clip_lines("a\nb\nc\nd", width=5, lines=2) == "a\nb\n… (2 more lines)"
    assert clip_lines("a\nb", width=5, lines=2) == "a\nb"


def test_escape_line_joins_lines_and_escapes():
    assert escape_line("a\n\t b\x1b") == "a b␛"


def test_shortened_text_ends_in_an_ellipsis():
    assert shorten("four words are here", 10) == "four word…"
    assert shorten("short", 10) == "short"


def test_a_nul_byte_near_the_start_makes_data_binary():
    assert is_binary(b"\x89PNG\0")
    assert not is_binary(b"x" * 9000 + b"\0")
