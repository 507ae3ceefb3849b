"""Secrets are replaced by the names of their variables, in texts and in streams."""

import io

import pytest

from skillsv.sandbox.redaction import RedactingStream, redact


def write_to_stream(text, forwarded):
    stream = io.StringIO()
    print(text, end="", file=RedactingStream(stream, forwarded), flush=True)
    return stream.getvalue()


@pytest.mark.parametrize("redactor", [redact, write_to_stream], ids=["text", "stream"])
class TestRedaction:
    def test_forwarded_variable_is_redacted_whatever_its_name(self, redactor):
        assert redactor("it is sk-12345678.", {"LOGIN": "sk-12345678"}) == "it is [LOGIN]."

    def test_environment_variable_with_the_name_of_a_secret_is_redacted(self, redactor, monkeypatch):
        monkeypatch.setenv("SOME_API_KEY", "abcdefgh-1234\n")
        monkeypatch.setenv("SOME_LANGUAGE", "language-1234")
        assert redactor("abcdefgh-1234 language-1234", {}) == "[SOME_API_KEY] language-1234"

    def test_value_of_eight_characters_is_a_secret_and_of_seven_is_not(self, redactor):
        assert redactor("12345678 abcdefg", {"A": "12345678", "B": "abcdefg"}) == "[A] abcdefg"

    def test_longer_secret_is_replaced_before_a_shorter_one_inside_it(self, redactor):
        assert redactor("12345678-more", {"SHORT": "12345678", "LONG": "12345678-more"}) == "[LONG]"

    def test_forwarded_value_does_not_hide_the_value_of_the_environment(self, redactor, monkeypatch):
        monkeypatch.setenv("SOME_API_KEY", "old-value-1")
        assert redactor("old-value-1 new-value-2", {"SOME_API_KEY": "new-value-2"}) == "[SOME_API_KEY] [SOME_API_KEY]"


def test_stream_is_no_terminal():
    assert not RedactingStream(io.StringIO(), {}).isatty()
