"""Names that stay: ids of units, and the anchors GitHub gives to headings."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

_MARKUP = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])?|[`*~]|(?<!\w)_+|_+(?!\w)")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]+")
_NOT_IN_ID = re.compile(r"[^a-z0-9]+")
_NOT_IN_PATH = re.compile(r"[^A-Za-z0-9._/-]+")


def plain(text: str) -> str:
    """Inline Markdown without its markup: `**Read** [this](x.md)` becomes `Read this`."""
    return _MARKUP.sub(lambda match: match[1] or "", text) if _MARKUP.search(text) else text


def github_slug(title: str) -> str:
    """The anchor of a heading, before the suffix that tells duplicates apart."""
    return _NOT_IN_SLUG.sub("", plain(title).strip().lower()).replace(" ", "-")


def short_hash(data: bytes) -> str:
    """Six hexadecimal digits that stand for a content."""
    return hashlib.sha256(data).hexdigest()[:6]


class Names:
    """Hands out unit ids: the same content under the same heading gets the same id, whatever is around it."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)
        self._copies: dict[str, int] = {}

    def body(self, heading: str, form: str, content: bytes) -> str:
        """The id of a unit of the main file: heading, form, short hash of its bytes."""
        return self._free(f"{heading_name(heading)}/{form}-{short_hash(content.strip())}")

    def resource(self, path: str) -> str:
        """The id of a resource: its path, in characters that need no quoting."""
        name = _NOT_IN_PATH.sub("-", path)
        return self._free(name if name == path else f"{name}-{short_hash(path.encode('utf-8', 'surrogateescape'))}")

    def composite(self, members: tuple[str, ...]) -> str:
        """The id of a contracted cycle: it depends on the members' ids alone."""
        return self._free(f"cycle/{short_hash(' '.join(members).encode())}")

    def _free(self, name: str) -> str:
        candidate = name
        while candidate in self._taken:
            self._copies[name] = self._copies.get(name, 1) + 1
            candidate = f"{name}-{self._copies[name]}"
        self._taken.add(candidate)
        return candidate


@lru_cache(maxsize=256)
def heading_name(title: str) -> str:
    """A heading as it appears in ids: lower-case ASCII words, cut at 40 characters; a hash if nothing is left."""
    name = _NOT_IN_ID.sub("-", plain(title).lower()).strip("-")[:40].rstrip("-")
    return name or (f"h-{short_hash(title.encode('utf-8', 'surrogateescape'))}" if title else "top")
