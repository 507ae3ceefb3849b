"""What MkDocs calls while it builds the site: adds the generated reference pages, and corrects links out of `docs`."""

from __future__ import annotations

import re

import reference_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGES = {
    "reference/commands.md": reference_pages.commands_page,
    "reference/settings.md": reference_pages.settings_page,
    "reference/api.md": reference_pages.api_page,
    "reference/schemas.md": reference_pages.schemas_page,
}
"""The pages that are generated, by their path in `docs`."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, write in PAGES.items():
        files.append(File.generated(config, path, content=write()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Let links out of `docs` lead to the repository: in a checkout they work as they are."""
    up = page.file.src_uri.count("/") + 1
    outside = re.compile(rf"\]\((?:\.\./){{{up}}}([\w./-]+)\)")
    return outside.sub(rf"]({config.extra['repository']}/tree/main/\1)", markdown)
