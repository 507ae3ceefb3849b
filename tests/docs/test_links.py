"""Links between the pages lead to files and headings that are there."""

import re

import pytest

from .conftest import PAGES, ROOT, name_of

FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+?)(?: \{#.*\})?$", re.MULTILINE)

GENERATED = {f"docs/reference/{name}.md" for name in ("commands", "settings", "api", "schemas")}
"""Pages that are written when the site is built; test_site.py checks links to them."""


def anchors(path):
    headings = HEADING.findall(FENCED.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_links_lead_somewhere(page):
    text = CODE.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))
    for target, anchor in LINK.findall(text):
        path = (page.parent / target).resolve() if target else page
        name = path.relative_to(ROOT).as_posix()
        if name not in GENERATED:
            assert path.exists(), target
            assert not anchor or anchor in anchors(path), f"{target}#{anchor}"


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if f": {page}\n" not in menu} == set()
