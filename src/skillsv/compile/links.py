"""Markdown links: where they stand and what they point at."""

from __future__ import annotations

import posixpath
import re
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
