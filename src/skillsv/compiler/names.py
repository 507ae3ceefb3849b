"""Ids of units that stay the same across edits, and the anchors that GitHub gives to headings."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

_MARKUP = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])?|[`*~]|(?<!\w)_+|(?<!_)_++(?!\w)")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]+")
_NOT_IN_ID = re.compile(r"[^a-z0-9]+")
_NOT_IN_PATH = re.compile(r"[^A-Za-z0-9._/-]+")

_MAX_HEADING = 40
"""Characters of a heading in an id: enough to recognise it, short enough for a table."""


def plain(text: str) -> str:
    """Inline Markdown without its markup: `**Read** [this](x.md)` becomes `Read this`."""
    return _MARKUP.sub(lambda match: match[1] or "", text) if _MARKUP.search(text) else text


def github_slug(title: str) -> str:
    """The anchor of a heading, without the suffix that GitHub adds to a repeated one."""
    return _NOT_IN_SLUG.sub("", plain(title).strip().lower()).replace(" ", "-")


def short_hash(data: bytes) -> str:
    """The first six hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()[:6]


class Names:
    """Creates unit ids. The same content under the same heading gets the same id, whatever is around it."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)
        self._copies: dict[str, int] = {}

    def body(self, heading: str, form: str, content: bytes, prefix: str = "") -> str:
        """The id of a unit of a Markdown file: heading, form and short hash of its bytes, after the file's `prefix`."""
        return self._unique(f"{prefix}{heading_name(heading)}/{form}-{short_hash(content.strip())}")

    def resource(self, path: str) -> str:
        """The id of a resource: its path, in characters that need no quoting."""
        return self._unique(self.path(path))

    @staticmethod
    def path(path: str) -> str:
        """The path of a file in characters that need no quoting; with a hash where that changes it."""
        name = _NOT_IN_PATH.sub("-", path)
        return name if name == path else f"{name}-{short_hash(path.encode('utf-8', 'surrogateescape'))}"

    def composite(self, members: tuple[str, ...]) -> str:
        """The id of a contracted cycle, from the ids of its members."""
        return self._unique(f"cycle/{short_hash(' '.join(members).encode())}")

    def _unique(self, name: str) -> str:
        """The name itself, or with a number where it is taken."""
        candidate = name
        while candidate in self._taken:
            self._copies[name] = self._copies.get(name, 1) + 1
            candidate = f"{name}-{self._copies[name]}"
        self._taken.add(candidate)
        return candidate


@lru_cache(maxsize=256)
def heading_name(title: str) -> str:
    """A heading as it appears in ids: lower-case ASCII words, cut at 40 characters; a hash if nothing is left."""
    name = _NOT_IN_ID.sub("-", plain(title).lower()).strip("-")[:_MAX_HEADING].rstrip("-")
    return name or (f"h-{short_hash(title.encode('utf-8', 'surrogateescape'))}" if title else "top")
