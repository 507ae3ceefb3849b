"""`skillsv lsp` without its optional package. What the server does is tested in tests/lsp."""

import sys

from skillsv.cli import run


def test_without_pygls_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    monkeypatch.delitem(sys.modules, "skillsv.lsp.server", raising=False)
    assert run(["lsp"]) == 2
    assert "pip install 'skillsv[lsp]'" in capsys.readouterr().err
