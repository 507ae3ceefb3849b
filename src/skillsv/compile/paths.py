"""Resource paths in running text and code."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from skillsv.compile.draft import Draft, DraftUnit

_TOKEN = re.compile(r"[A-Za-z0-9_.@+~/{}$%-]+")
_USUAL = re.compile(r"[A-Za-z0-9_.@+~/-]+")
_PREFIX = re.compile(r"(?:\./|\$?\{[^{}]*\}/|\$\w+/|%\w+%/)+")
_GENERIC_STEMS = {"index", "readme", "__init__", "__main__", "main", "changelog", "contributing", "setup", "config"}
_GENERIC_NAMES = {"package.json", "tsconfig.json", "requirements.txt", "pyproject.toml", "skill.md"}

_FEW = 64
"""Up to so many file names, looking for each one in a text is quicker than looking at every token."""


class Mention(NamedTuple):
    """A path as written at an offset of the unit's text, and the resource it names."""

    written: str
    offset: int
    resource: DraftUnit


class PathIndex:
    """Finds mentions of the skill's resources: by path, or by a file name that only one resource has."""

    def __init__(self, draft: Draft) -> None:
        self._skill = draft.skill.name
        self._paths = {_normal(path): unit for path, unit in draft.resources.items()}
        names = Counter(posixpath.basename(path) for path in self._paths)
        self._basenames = sorted(names)
        self._names = {
            name: unit
            for path, unit in self._paths.items()
            if names[name := posixpath.basename(path)] == 1 and _is_telling(name)
        }
        self._unusual = [path for path in self._paths if not _USUAL.fullmatch(path)]

    def __bool__(self) -> bool:
        return bool(self._paths)

    def mentions(self, unit: DraftUnit) -> Iterator[Mention]:
        """Every resource a unit names, each as often as it is named."""
        text = _normal(unit.text)
        if len(self._basenames) <= _FEW and not any(name in text for name in self._basenames):
            return
        folder = posixpath.dirname(unit.file)
        for match in _TOKEN.finditer(text):
            written = match[0].rstrip(".-~{$%")
            if "." not in written and "/" not in written:
                continue
            resource = self._resolve(written, match.start(), text, folder)
            if resource is not None:
                yield Mention(written, match.start(), resource)
        for path in self._unusual:
            for written in (path, posixpath.basename(path)):
                at = text.find(written)
                if at >= 0 and (written == path or written in self._names) and _stands_free(text, at):
                    yield Mention(written, at, self._paths[path])
                    break

    def _resolve(self, written: str, start: int, text: str, folder: str) -> DraftUnit | None:
        before = text[start - 1] if start else " "
        if before == "*" and start > 1 and (text[start - 2].isalnum() or text[start - 2] in "/_.-"):
            return None  # the tail of a glob
        token = written[1:] if before == ">" and written.startswith("/") else written  # <skill-dir>/scripts/run.py
        token = _PREFIX.sub("", token, count=1) if _PREFIX.match(token) else token
        if not token or token.startswith("/") or token.endswith("/"):
            return self._below_skill(written)
        return (
            self._paths.get(posixpath.normpath(posixpath.join(folder, token)))
            or self._paths.get(posixpath.normpath(token))
            or self._names.get(token)
            or self._below_skill(token)
        )

    def _below_skill(self, token: str) -> DraftUnit | None:
        """A path from outside that goes through the skill's own folder: `.claude/skills/NAME/scripts/run.py`."""
        _, found, rest = f"/{token}".rpartition(f"/{self._skill}/")
        return self._paths.get(rest) if found else None


def _is_telling(name: str) -> bool:
    stem = name.partition(".")[0].lower()
    return "." in name.strip(".") and stem not in _GENERIC_STEMS and name.lower() not in _GENERIC_NAMES


def _stands_free(text: str, at: int) -> bool:
    """Whether a name found at an offset is not the tail of a longer one; `./`, `{dir}/` and `<dir>/` may precede it."""
    before = text[at - 1] if at else " "
    if before == "/":
        return at > 1 and text[at - 2] in ".}>"
    return not (before.isascii() and (before.isalnum() or before in "_-."))


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)
