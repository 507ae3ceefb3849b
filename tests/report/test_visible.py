import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from skillsv.report.escape import clip, clip_lines, escape_text

ANY_TEXT = st.text(st.characters(min_codepoint=0, max_codepoint=0x3000), max_size=60) | st.text(
    st.sampled_from("\x1b\x00\r\n\t\u202e\u2066\x9b\ud800\x7fab<>&")
)


@given(ANY_TEXT)
def test_nothing_that_acts_is_left(text):
    for char in escape_text(text):
        assert char in "\t\n" or unicodedata.category(char) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(char) not in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(ANY_TEXT)
def test_showing_twice_changes_nothing(text):
    assert escape_text(escape_text(text)) == escape_text(text)


def test_controls_become_readable():
    assert escape_text("\x1b[31mred\u202e!\r\nnext\x00") == "␛[31mred⟨U+202E⟩!\nnext␀"


def test_a_cut_says_what_is_missing():
    assert clip("x" * 1_000_000, 10) == "xxxxxxxxxx… (999,990 more characters)"
    assert clip_lines("a\nb\nc\nd", width=5, lines=2) == "a\nb\n… (2 more lines)"
    assert clip_lines("a\nb", width=5, lines=2) == "a\nb"
