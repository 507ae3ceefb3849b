"""References in a unit's text: Markdown links, paths of resources, and imports. Rules and lint checks share them."""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from skillsv.compiler.draft import Draft, DraftUnit
from skillsv.compiler.names import github_slug

_BACKTICKS = re.compile(r"`+")
_NOT_LINE_END = re.compile(r"[^\n]")
_INLINE_LINK = re.compile(
    r"\]\(\s*(?:<([^<>\n]*)>|((?:[^\s()<>]|\([^\s()]*\))+))(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]+)\]:[ \t]*\n?[ \t]*(?:<([^<>\n]*)>|(\S+))", re.MULTILINE)
_REFERENCE_LINK = re.compile(r"\[([^\[\]\n]+)\](?:\[([^\[\]\n]*)\])?(?![(:\[])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")

_PATH_TOKEN = re.compile(r"[A-Za-z0-9_.@+~/{}$%-]+")
_USUAL_PATH = re.compile(r"[A-Za-z0-9_.@+~/-]+")
_PATH_PREFIX = re.compile(r"(?:\./|\$?\{[^{}]*\}/|\$\w+/|%\w+%/)+")

_GENERIC_STEMS = {"index", "readme", "__init__", "__main__", "main", "changelog", "contributing", "setup", "config"}
"""Stems of file names that many projects have: without a folder, such a name points at no file in particular."""

_GENERIC_NAMES = {"package.json", "tsconfig.json", "requirements.txt", "pyproject.toml", "skill.md"}
"""File names that many projects have."""

_FEW_NAMES = 64
"""Up to this many file names, a search for each name is faster than a look at every token of the text."""

_SCRIPT_ENDINGS = ("", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", "/index.js", "/index.ts")
"""What JavaScript may add to the path of an import, in the order tried."""


class Link(NamedTuple):
    """A link's destination as written, and its line in the file."""

    destination: str
    line: int


def find_links(unit: DraftUnit, definitions: Mapping[str, str]) -> Iterator[Link]:
    """The links and images of a unit outside code: inline links and those by reference label."""
    if "[" not in unit.text:
        return
    text = without_code_spans(unit.prose)
    links = [(match.start(), match[1] if match[1] is not None else match[2]) for match in _INLINE_LINK.finditer(text)]
    if definitions:
        labels = ((match.start(), _label(match[2] or match[1])) for match in _REFERENCE_LINK.finditer(text))
        links += [(start, definitions[label]) for start, label in labels if label in definitions]
    line, counted = unit.lines.first, 0
    for start, destination in sorted(links):
        line += text.count("\n", counted, start)
        counted = start
        yield Link(destination, line)


def find_definitions(units: tuple[DraftUnit, ...]) -> dict[str, str]:
    """The destinations of link reference definitions by label; the first definition of a label counts."""
    definitions: dict[str, str] = {}
    for unit in units:
        if "]:" in unit.text:
            for match in _DEFINITION.finditer(unit.prose):
                definitions.setdefault(_label(match[1]), match[2] if match[2] is not None else match[3])
    return definitions


def find_anchors(draft: Draft) -> dict[str, int]:
    """Sections of the main file by GitHub's anchor: lower case, hyphens, then `-1`, `-2` for repeated titles."""
    anchors: dict[str, int] = {}
    copies: dict[str, int] = {}
    for index, section in enumerate(draft.sections):
        if section.kind == "heading":
            anchor = slug = github_slug(section.title)
            while anchor in anchors:
                copies[slug] = copies.get(slug, 0) + 1
                anchor = f"{slug}-{copies[slug]}"
            anchors[anchor] = index
    return anchors


def is_local(destination: str) -> bool:
    """Whether a destination lies in the skill: neither a network address nor a template."""
    return bool(destination) and not _SCHEME.match(destination) and not set(destination) & set("{}$*")


def local_path(destination: str, file: str) -> tuple[list[str], str]:
    """The paths that a destination may mean (from the file's folder, then from the root), and its anchor."""
    path, _, anchor = destination.partition("#")
    path = unquote(path.partition("?")[0])
    if not path:
        return [], unquote(anchor)
    folder = posixpath.dirname(file)
    candidates = [posixpath.normpath(posixpath.join(folder, path)), posixpath.normpath(path.lstrip("/"))]
    return list(dict.fromkeys(candidates)), unquote(anchor)


def without_code_spans(text: str) -> str:
    """The text with inline code replaced by spaces, at the same length.

    A code span ends at the next run of as many backticks; without one, the backticks are ordinary text.
    """
    runs = [match.span() for match in _BACKTICKS.finditer(text)]
    closing_run: dict[int, int] = {}
    latest: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        if length in latest:
            closing_run[index] = latest[length]
        latest[length] = index
    parts: list[str] = []
    done = index = 0
    while index < len(runs):
        closing = closing_run.get(index)
        if closing is None or "\n\n" in text[runs[index][1] : runs[closing][0]]:
            index += 1
            continue
        start, end = runs[index][0], runs[closing][1]
        parts += [text[done:start], _NOT_LINE_END.sub(" ", text[start:end])]
        done, index = end, closing + 1
    return "".join((*parts, text[done:]))


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


class Mention(NamedTuple):
    """A path as written at an offset of the unit's text, and the resource it names."""

    written: str
    offset: int
    resource: DraftUnit


class PathIndex:
    """Finds mentions of the skill's resources: by path, or by a file name that only one resource has."""

    def __init__(self, draft: Draft) -> None:
        self._skill = draft.skill.name
        self._paths = {_normalize(path): unit for path, unit in draft.resources.items()}
        names = Counter(posixpath.basename(path) for path in self._paths)
        self._basenames = sorted(names)
        self._names = {
            name: unit
            for path, unit in self._paths.items()
            if names[name := posixpath.basename(path)] == 1 and _is_specific(name)
        }
        self._unusual_paths = [path for path in self._paths if not _USUAL_PATH.fullmatch(path)]

    def __bool__(self) -> bool:
        return bool(self._paths)

    def mentions(self, unit: DraftUnit) -> Iterator[Mention]:
        """Every resource that a unit names, once for each time it is named."""
        text = _normalize(unit.text)
        if len(self._basenames) <= _FEW_NAMES and not any(name in text for name in self._basenames):
            return
        folder = posixpath.dirname(unit.file)
        for match in _PATH_TOKEN.finditer(text):
            written = match[0].rstrip(".-~{$%")
            if "." not in written and "/" not in written:
                continue
            resource = self._resolve(written, match.start(), text, folder)
            if resource is not None:
                yield Mention(written, match.start(), resource)
        for path in self._unusual_paths:
            for written in (path, posixpath.basename(path)):
                offset = text.find(written)
                if offset >= 0 and (written == path or written in self._names) and _starts_name(text, offset):
                    yield Mention(written, offset, self._paths[path])
                    break

    def _resolve(self, written: str, start: int, text: str, folder: str) -> DraftUnit | None:
        before = text[start - 1] if start else " "
        if before == "*" and start > 1 and (text[start - 2].isalnum() or text[start - 2] in "/_.-"):
            return None  # the end of a glob
        token = written[1:] if before == ">" and written.startswith("/") else written  # <skill-dir>/scripts/run.py
        token = _PATH_PREFIX.sub("", token, count=1) if _PATH_PREFIX.match(token) else token
        if not token or token.startswith("/") or token.endswith("/"):
            return self._below_skill(written)
        return (
            self._paths.get(posixpath.normpath(posixpath.join(folder, token)))
            or self._paths.get(posixpath.normpath(token))
            or self._names.get(token)
            or self._below_skill(token)
        )

    def _below_skill(self, token: str) -> DraftUnit | None:
        """The resource of a path that contains the skill's own folder: `.claude/skills/NAME/scripts/run.py`."""
        _, separator, rest = f"/{token}".rpartition(f"/{self._skill}/")
        return self._paths.get(rest) if separator else None


def module_resource(written: str, family: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    """The resource that an import in `file` loads, if it is one of the skill's own."""
    if family == "javascript":
        return _javascript_module(written, file, resources)
    return _python_module(written, file, resources)


def _is_specific(name: str) -> bool:
    stem = name.partition(".")[0].lower()
    return "." in name.strip(".") and stem not in _GENERIC_STEMS and name.lower() not in _GENERIC_NAMES


def _starts_name(text: str, offset: int) -> bool:
    """Whether a name at an offset is not the end of a longer one; `./`, `{dir}/` and `<dir>/` may precede it."""
    before = text[offset - 1] if offset else " "
    if before == "/":
        return offset > 1 and text[offset - 2] in ".}>"
    return not (before.isascii() and (before.isalnum() or before in "_-."))


def _normalize(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _javascript_module(written: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    base = posixpath.normpath(posixpath.join(posixpath.dirname(file), written))
    return next((resources[base + ending] for ending in _SCRIPT_ENDINGS if base + ending in resources), None)


def _python_module(written: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    level = len(written) - len(written.lstrip("."))
    path = written.lstrip(".").replace(".", "/")
    if not path:
        return None
    folder = posixpath.dirname(file)
    for _ in range(level - 1):
        folder = posixpath.dirname(folder)
    for base in dict.fromkeys((folder, "") if not level else (folder,)):
        for ending in (".py", "/__init__.py"):
            resource = resources.get(posixpath.join(base, path) + ending)
            if resource is not None:
                return resource
    return None if level or "/" in path else _unique_module(path, resources)


def _unique_module(stem: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    """The only resource with this module name, unless the standard library has such a module."""
    if stem in sys.stdlib_module_names:
        return None
    candidates = [unit for path, unit in resources.items() if posixpath.basename(path) == f"{stem}.py"]
    return candidates[0] if len(candidates) == 1 else None
