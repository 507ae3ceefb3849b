"""Markdown links in a unit's text, and where they lead. Rules and lint checks share them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import unquote

from skillsv.compiler.draft import Draft, DraftUnit
from skillsv.compiler.names import github_slug

_BACKTICKS = re.compile(r"`+")
_NOT_LINE_END = re.compile(r"[^\n]")
_INLINE_LINK = re.compile(
    r"\]\(\s*(?:<([^<>\n]*)>|((?:[^\s()<>]|\([^\s()]*\))+))(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_LEAD = r"^ {0,3}(?:>[ \t]*|(?:[-*+]|\d{1,9}[.)])[ \t]+)*+"
_DEFINITION = re.compile(
    _LEAD
    + r"\[(?!\^)(?P<label>(?:[^\[\]\\]|\\.)++)\]:[ \t]*+\n?[ \t>]*+(?:<(?P<quoted>[^<>\n]*)>|(?P<plain>[^\s<]\S*))"
    r"(?:\s++(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*+$",
    re.MULTILINE,
)
_FOOTNOTE = re.compile(_LEAD + r"\[(?P<label>\^[^\s\[\]]+)\]:", re.MULTILINE)
_BRACKETS = re.compile(r"\[((?:[^\[\]\\]|\\.)*+)\]")
_BRACKET_RUN = re.compile(rf"(?<!\\)(?:{_BRACKETS.pattern})+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class Definition(NamedTuple):
    """What a label stands for: a destination (empty for a footnote), at an offset of the prose of a unit."""

    label: str
    destination: str
    unit: DraftUnit
    offset: int

    @property
    def line(self) -> int:
        """The definition's line in its file."""
        return self.unit.line_of(self.offset, self.unit.prose)


class Link(NamedTuple):
    """A link's destination as written, and its line in the file; `definition` is that of its label, if it has one.

    A footnote mark is a link without a destination: it leads to its definition only.
    """

    destination: str
    line: int
    definition: Definition | None = None


def find_links(unit: DraftUnit, definitions: Mapping[str, Definition]) -> Iterator[Link]:
    """The links, images and footnote marks of a unit outside code: inline links and those by reference label."""
    if "[" not in unit.text:
        return
    prose = unit.prose
    text = without_code_spans(prose)
    links: list[tuple[int, str, Definition | None]] = [
        (match.start(), match[1] if match[1] is not None else match[2], None) for match in _INLINE_LINK.finditer(text)
    ]
    for start, label in _labels_used(prose, text, definitions) if definitions else ():
        links.append((start, definitions[label].destination, definitions[label]))
    line, counted = unit.lines.first, 0
    for start, destination, definition in sorted(links, key=itemgetter(0)):
        line += text.count("\n", counted, start)
        counted = start
        yield Link(destination, line, definition)


def find_definitions(units: Iterable[DraftUnit]) -> dict[str, Definition]:
    """Link reference definitions and footnotes by label; the first definition of a label counts."""
    definitions: dict[str, Definition] = {}
    for unit in units:
        if "]:" not in unit.text:
            continue
        prose = unit.prose
        for match in (*_DEFINITION.finditer(prose), *_FOOTNOTE.finditer(prose)):
            label = normalize_label(match["label"])
            parts = match.groupdict()
            destination = parts.get("plain") or parts.get("quoted") or ""
            if label:
                definitions.setdefault(label, Definition(label, destination, unit, match.start("label")))
    return definitions


def definitions_by_file(
    draft: Draft, find: Callable[[Iterable[DraftUnit]], Mapping[str, Definition]] = find_definitions
) -> dict[str, Mapping[str, Definition]]:
    """The definitions of every Markdown file: a label is looked up in its own file."""
    units_of: dict[str, list[DraftUnit]] = {}
    for unit in draft.readable:
        if unit.is_markdown:
            units_of.setdefault(unit.file, []).append(unit)
    return {file: find(units) for file, units in units_of.items()}


def _labels_used(prose: str, text: str, labels: Container[str]) -> Iterator[tuple[int, str]]:
    """The labels that a text refers to, each with its offset: `[text][label]`, `[label][]`, `[label]`, `[^label]`.

    `text` is `prose` without code spans: brackets in code are no link, but a label may hold code.
    """
    if "]:" in text:
        text = _FOOTNOTE.sub(_blank, _DEFINITION.sub(_blank, text))
    for run in _BRACKET_RUN.finditer(text):
        brackets = list(_BRACKETS.finditer(text, *run.span()))
        found = [normalize_label(prose[slice(*match.span(1))]) for match in brackets]
        inline = _INLINE_LINK.match(text, run.end() - 1) is not None
        index = 0
        if text[run.start() - 1 : run.start()] == "]" and found[0] in labels:  # [text with [brackets]][label]
            yield brackets[0].start(), found[0]
            index = 1
        while index < len(found):
            label, step = _label_at(found, index, labels, inline=inline)
            if label in labels:
                yield brackets[index].start(), label
            index += step


def _label_at(found: list[str], index: int, labels: Container[str], *, inline: bool) -> tuple[str, int]:
    """The label of the link at this place in a row of brackets (or ""), and how many brackets the link takes.

    `inline`: the last brackets of the row are the text of an inline link.
    """
    label = found[index]
    if label.startswith("^"):
        return label, 1
    if index + 1 == len(found):
        return ("" if inline else label), 1
    following = found[index + 1]
    if not following:
        return label, 2
    if following.startswith("^"):
        return label, 1
    return (following, 2) if following in labels else ("", 1)


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


def normalize_label(text: str) -> str:
    """A reference label as CommonMark compares it: without regard to case, white space collapsed."""
    return " ".join(text.split()).casefold()


def _blank(match: re.Match[str]) -> str:
    return _NOT_LINE_END.sub(" ", match[0])
