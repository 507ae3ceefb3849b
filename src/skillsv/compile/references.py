"""Markdown links: where they stand and what they point at."""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from skillsv.compile.draft import Draft, DraftUnit
from skillsv.compile.names import github_slug

_BACKTICKS = re.compile(r"`+")
_NOT_LINE_END = re.compile(r"[^\n]")
_INLINE = re.compile(
    r"\]\(\s*(?:<([^<>\n]*)>|((?:[^\s()<>]|\([^\s()]*\))+))(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\s*\)"
)
_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]+)\]:[ \t]*\n?[ \t]*(?:<([^<>\n]*)>|(\S+))", re.MULTILINE)
_REFERENCE = re.compile(r"\[([^\[\]\n]+)\](?:\[([^\[\]\n]*)\])?(?![(:\[])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class Link(NamedTuple):
    """A link's destination as written, and its line in the file."""

    destination: str
    line: int


def links_of(unit: DraftUnit, definitions: Mapping[str, str]) -> Iterator[Link]:
    """The links and images of a unit outside code, inline ones and those by reference label."""
    if "[" not in unit.text:
        return
    text = without_code_spans(unit.prose)
    found = [(match.start(), match[1] if match[1] is not None else match[2]) for match in _INLINE.finditer(text)]
    if definitions:
        labels = ((match.start(), _label(match[2] or match[1])) for match in _REFERENCE.finditer(text))
        found += [(start, definitions[label]) for start, label in labels if label in definitions]
    line, counted = unit.lines.first, 0
    for start, destination in sorted(found):
        line += text.count("\n", counted, start)
        counted = start
        yield Link(destination, line)


def definitions_of(units: tuple[DraftUnit, ...]) -> dict[str, str]:
    """Link reference definitions by label; the first of a label counts."""
    found: dict[str, str] = {}
    for unit in units:
        if "]:" in unit.text:
            for match in _DEFINITION.finditer(unit.prose):
                found.setdefault(_label(match[1]), match[2] if match[2] is not None else match[3])
    return found


def anchors_of(draft: Draft) -> dict[str, int]:
    """Sections of the main file by GitHub's anchor: lower case, hyphens, `-1` and on for repeated titles."""
    found: dict[str, int] = {}
    copies: dict[str, int] = {}
    for index, section in enumerate(draft.sections):
        if section.kind == "heading":
            candidate = slug = github_slug(section.title)
            while candidate in found:
                copies[slug] = copies.get(slug, 0) + 1
                candidate = f"{slug}-{copies[slug]}"
            found[candidate] = index
    return found


def is_local(destination: str) -> bool:
    """Whether a destination lies in the skill: not an address of the network, not a template."""
    return bool(destination) and not _SCHEME.match(destination) and not set(destination) & set("{}$*")


def local_path(destination: str, file: str) -> tuple[list[str], str]:
    """The paths a destination may mean, seen from the file's folder and then from the root; and its anchor."""
    path, _, anchor = destination.partition("#")
    path = unquote(path.partition("?")[0])
    if not path:
        return [], unquote(anchor)
    folder = posixpath.dirname(file)
    candidates = [posixpath.normpath(posixpath.join(folder, path)), posixpath.normpath(path.lstrip("/"))]
    return list(dict.fromkeys(candidates)), unquote(anchor)


def without_code_spans(text: str) -> str:
    """The text with inline code blanked, as long as before. A span ends at a run of as many backticks, if any."""
    runs = [match.span() for match in _BACKTICKS.finditer(text)]
    partner: dict[int, int] = {}
    latest: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        if length in latest:
            partner[index] = latest[length]
        latest[length] = index
    kept: list[str] = []
    done = index = 0
    while index < len(runs):
        closing = partner.get(index)
        if closing is None or "\n\n" in text[runs[index][1] : runs[closing][0]]:
            index += 1
            continue
        start, end = runs[index][0], runs[closing][1]
        kept += [text[done:start], _NOT_LINE_END.sub(" ", text[start:end])]
        done, index = end, closing + 1
    return "".join((*kept, text[done:]))


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


# Resource paths in running text and code.

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


# From an import statement to the resource file it loads.

_SCRIPT_ENDINGS = ("", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", "/index.js", "/index.ts")


def module_resource(written: str, family: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    """The resource that an import in `file` loads, if it is one of the skill's own."""
    if family == "javascript":
        return _script(written, file, resources)
    return _python(written, file, resources)


def _script(written: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    base = posixpath.normpath(posixpath.join(posixpath.dirname(file), written))
    return next((resources[base + ending] for ending in _SCRIPT_ENDINGS if base + ending in resources), None)


def _python(written: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    level = len(written) - len(written.lstrip("."))
    path = written.lstrip(".").replace(".", "/")
    if not path:
        return None
    folder = posixpath.dirname(file)
    for _ in range(level - 1):
        folder = posixpath.dirname(folder)
    for base in dict.fromkeys((folder, "") if not level else (folder,)):
        for ending in (".py", "/__init__.py"):
            found = resources.get(posixpath.join(base, path) + ending)
            if found is not None:
                return found
    return None if level or "/" in path else _only_one(path, resources)


def _only_one(stem: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    """A module that exactly one resource could be, and that Python does not bring itself."""
    if stem in sys.stdlib_module_names:
        return None
    found = [unit for path, unit in resources.items() if posixpath.basename(path) == f"{stem}.py"]
    return found[0] if len(found) == 1 else None
