"""Markdown links in a unit's text, and where they lead. Rules and lint checks share them."""

from __future__ import annotations

import posixpath
import re
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


def find_anchors(draft: Draft, file: str) -> dict[str, int]:
    """Sections of a file by GitHub's anchor: lower case, hyphens, then `-1`, `-2` for repeated titles."""
    anchors: dict[str, int] = {}
    copies: dict[str, int] = {}
    for index, section in enumerate(draft.sections):
        if section.kind == "heading" and section.file == file:
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
