"""Markdown links: where they stand and what they point at."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from skillsv.compile.draft import Draft, DraftUnit
from skillsv.compile.names import github_slug

_CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
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
    for match in _INLINE.finditer(text):
        yield Link(match[1] if match[1] is not None else match[2], unit.line(match.start(), text))
    if definitions:
        for match in _REFERENCE.finditer(text):
            destination = definitions.get(_label(match[2] or match[1]))
            if destination is not None:
                yield Link(destination, unit.line(match.start(), text))


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
    for index, section in enumerate(draft.sections):
        if section.kind == "heading":
            slug = github_slug(section.title)
            candidate, copy = slug, 0
            while candidate in found:
                copy += 1
                candidate = f"{slug}-{copy}"
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
    """The text with inline code blanked, as long as before."""
    if "`" not in text:
        return text
    return _CODE_SPAN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()
