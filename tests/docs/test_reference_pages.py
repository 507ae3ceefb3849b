"""The generated pages have every command with its flags, every setting, every public name and every JSON document."""

import sys

import pytest

import skillsv
from skillsv.cli.app import COMMAND_NAMES
from skillsv.settings import SETTINGS

from .conftest import ROOT


@pytest.fixture(scope="module")
def pages():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools" / "docs_site"))
        import reference_pages

        yield reference_pages
        sys.modules.pop("reference_pages")


def test_every_command_is_there_with_its_flags(pages):
    text = pages.commands_page()
    for name in COMMAND_NAMES:
        assert f"\n## {name}\n\n```text\nskillsv {name}" in text
    lint = text.partition("\n## lint\n")[2].partition("\n## ")[0]
    assert "| `--fail-on` | Least severity that gives exit code 1. |" in lint
    assert "| `--output`, `-o` |" in lint
    assert "(settings.md#compiler)" in lint
    assert "### bench planted" in text


def test_every_setting_is_there(pages):
    text = pages.settings_page()
    for info in SETTINGS.values():
        assert f"| `{info.flag}`" in text
    assert text.count("{#") == len({info.group for info in SETTINGS.values()})
    assert "| `--show-target` |  |" in text, "no file may hold it, so it has no key"


def test_every_public_name_and_document_is_there(pages):
    text = pages.api_page()
    for name in skillsv.__all__:
        assert name == "__version__" or f"heading: sv.{name}\n" in text
    for path in (ROOT / "docs" / "schema").glob("*.json"):
        assert f"](../schema/{path.name})" in pages.schemas_page()


def test_markup_in_help_sentences_is_text(pages):
    assert pages.escape("<b>*a* [x](y)") == "&#60;b&#62;&#42;a&#42; &#91;x&#93;(y)"


def test_examples_in_docstrings_get_fences():
    pytest.importorskip("griffe")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools" / "docs_site"))
        from doctest_fences import fence
    text = "A sum.\n\n>>> 1 + 1\n2\n\nMore.\n\n    x = 1\n\n    y = 2\n\nEnd."
    expected = "A sum.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\n```python\nx = 1\n\ny = 2\n```\n\nEnd.\n"
    assert fence(text) == expected
