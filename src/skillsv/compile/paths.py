"""Resource paths in running text and code."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from skillsv.compile.draft import Draft, DraftUnit

_TOKEN = re.compile(r"[A-Za-z0-9_.@+~/{}$%-]*[./][A-Za-z0-9_.@+~/{}$%-]+")
_WIDE_TOKEN = re.compile(r"[\w.@+~/{}$%-]*[./][\w.@+~/{}$%-]+")
_PREFIX = re.compile(r"(?:\./|\$?\{[^{}]*\}/|\$\w+/|%\w+%/)+")
_GENERIC_STEMS = {"index", "readme", "__init__", "__main__", "main", "changelog", "contributing", "setup", "config"}
_GENERIC_NAMES = {"package.json", "tsconfig.json", "requirements.txt", "pyproject.toml", "skill.md"}


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
        self._names = {
            name: unit
            for path, unit in self._paths.items()
            if names[name := posixpath.basename(path)] == 1 and _is_telling(name)
        }
        self._spaced = [path for path in self._paths if any(not _fits_token(char) for char in path)]

    def __bool__(self) -> bool:
        return bool(self._paths)

    def mentions(self, unit: DraftUnit) -> Iterator[Mention]:
        """Every resource a unit names, each as often as it is named."""
        text = _normal(unit.text)
        folder = posixpath.dirname(unit.file)
        pattern = _TOKEN if text.isascii() else _WIDE_TOKEN
        for match in pattern.finditer(text):
            resource = self._resolve(match[0], match.start(), text, folder)
            if resource is not None:
                yield Mention(match[0], match.start(), resource)
        if pattern is _WIDE_TOKEN:
            yield from self._glued(text, folder)
        for path in self._spaced:
            at = text.find(path)
            if at >= 0:
                yield Mention(path, at, self._paths[path])

    def _glued(self, text: str, folder: str) -> Iterator[Mention]:
        """Paths written without a space beside words of another script."""
        for match in _TOKEN.finditer(text):
            resource = self._resolve(match[0], match.start(), text, folder)
            if resource is not None:
                yield Mention(match[0], match.start(), resource)

    def _resolve(self, written: str, start: int, text: str, folder: str) -> DraftUnit | None:
        before = text[start - 1] if start else " "
        if before == "*" and start > 1 and (text[start - 2].isalnum() or text[start - 2] in "/_.-"):
            return None  # the tail of a glob
        token = written.rstrip(".-~{$%")
        if before == ">" and token.startswith("/"):
            token = token[1:]  # <skill-dir>/scripts/run.py
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
        return self._paths.get(rest.rstrip(".")) if found else None


def _is_telling(name: str) -> bool:
    stem = name.partition(".")[0].lower()
    return "." in name.strip(".") and stem not in _GENERIC_STEMS and name.lower() not in _GENERIC_NAMES


def _fits_token(char: str) -> bool:
    return char.isalnum() or char in "_.@+~/-"


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)
