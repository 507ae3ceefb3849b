import io
import sys

import pytest

from skillsv.cli import run
from skillsv.cli.plain_characters import use_plain_characters


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_table_is_printed_where_the_encoding_lacks_its_characters(original, monkeypatch, encoding):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    assert run(["estimate", str(original / "run")]) == 0
    sys.stdout.flush()
    text = raw.getvalue().decode(encoding)
    assert "* keep" in text
    assert "\\u" not in text
    widths = {len(line.rstrip("\r")) for line in text.split("\n") if line.startswith("|")}
    assert len(widths) == 1


def test_other_characters_become_their_codes(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    use_plain_characters()
    sys.stdout.write("\u2212 \u732b \u2026\n")
    sys.stdout.flush()
    assert raw.getvalue().decode() == "- \\u732b ~\n"
