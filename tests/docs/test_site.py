"""The site is built strictly, loads nothing from the network, and can be read and searched as files, also on a phone."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from .conftest import ROOT

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not find_spec("mkdocstrings"), reason="needs the extra docs"),
]

TAGS = ("li", "table", "tr", "pre", "h2", "h3", "strong", "em")

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", place],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def pages_of(site):
    return [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]


def test_pages_show_the_same_lists_tables_and_code_as_elsewhere(site):
    """Markdown is read in two dialects, here and on GitHub: a list that only one of them sees is an error."""
    markdown = MarkdownIt("commonmark").enable("table")
    for source in (ROOT / "docs").rglob("*.md"):
        expected = markdown.render(source.read_text(encoding="utf-8"))
        page = (site / source.relative_to(ROOT / "docs")).with_suffix(".html").read_text(encoding="utf-8")
        shown = page.partition("<article")[2].partition("</article>")[0]
        counts = {tag: len(re.findall(f"<{tag}[ >]", shown)) for tag in TAGS}
        assert counts == {tag: len(re.findall(f"<{tag}[ >]", expected)) for tag in TAGS}, source


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pages_load_nothing_else_and_fit(site, browser, scheme, size):
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    elsewhere, errors = [], []
    page.on("request", lambda request: elsewhere.append(request.url) if request.url.startswith("http") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path in pages_of(site):
        page.goto(path.as_uri(), wait_until="load")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.locator("article h1").inner_text(), path
    context.close()
    assert elsewhere == []
    assert errors == []


def test_the_search_works_in_files(site, browser):
    page = browser.new_page()
    page.goto((Path(site) / "how-to" / "codex.html").as_uri())
    page.locator("input[name=query]").press_sequentially("fingerprint")
    page.wait_for_selector(".md-search-result__link")
    found = {link.get_attribute("href") for link in page.locator(".md-search-result__link").all()}
    assert any("fingerprints.html" in link for link in found)
    page.close()


def test_the_reference_is_in_the_site(site):
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert '<h2 id="value">' in commands
    names = (site / "reference" / "api.html").read_text(encoding="utf-8")
    assert "sv.value" in names
    assert "&gt;&gt;&gt;" in names, "examples of docstrings are code"
