"""R3 HEADING-REF (heuristic): a unit needs the section whose heading it quotes word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from skillsv.compiler.draft import Draft, DraftUnit, empty_section, make_edge
from skillsv.compiler.names import plain
from skillsv.model.skill import Edge, Finding

_WORD = re.compile(r"\w+")
_LINK = re.compile(r"!?\[[^\[\]\n]*\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_POINTER_BEFORE = re.compile(
    r"""(?ix) \b (?:
        see | see\ also | read | sections? | refer(?:ring)?\ to | go\ to | follow(?:ing)? | according\ to | under
        | (?:same|similar) \ (?:as|to) | as\ (?:in|for) | \w+ed\ (?:in|under) | the\ \w+\ (?:in|from|under)
    ) (?: \ (?:the|our|this) )? \s* [:—–-]? \s* [“"'(\[]* $"""
)
_POINTER_AFTER = re.compile(r"[”\"')\]]*\s+(?:section|sections|above|below|table|checklist|steps|rules|workflow)\b")
_CODE = re.compile(r"`([^`\n]+)`")
_QUOTES = {"“": "”", '"': '"', "‘": "’"}
_MIN_WORDS = 2
"""Words of a heading below which a match is too likely to be chance."""

_MIN_CHARACTERS = 8
"""Characters of a heading below which a match is too likely to be chance."""


class _Heading(NamedTuple):
    """The words of a heading, the number of characters before its first word, and the sections with this heading."""

    words: str
    lead: int
    sections: list[int]


def find_heading_edges(draft: Draft) -> Iterator[Edge | Finding]:
    """Edges to the primary units of quoted headings: outside code, never to the unit's own or an enclosing section.

    The words of a heading count where something says that they are one: `see Error Handling`, `the Error Handling
    section`, quotation marks or code. Elsewhere they are a term (`works in Server Components`), a label
    (`**Error Handling**: catch all errors`), or the text of a link, which leads where it says.
    """
    yield from _find_edges(draft, pointers_only=True)


def find_early_heading_edges(draft: Draft) -> Iterator[Edge | Finding]:
    """Version 1 of the rule: every occurrence of the words counts."""
    yield from _find_edges(draft, pointers_only=False)


def _find_edges(draft: Draft, *, pointers_only: bool) -> Iterator[Edge | Finding]:
    headings = _by_first_words(draft)
    if not headings:
        return
    for unit in draft.body:
        enclosing = draft.ancestors(unit.heading)
        seen: set[int] = set()
        prose = _LINK.sub(" ", unit.prose) if pointers_only and "](" in unit.prose else unit.prose
        in_code = frozenset(_CODE.findall(prose))
        for heading, pointed_at in _mentions(" ".join(plain(prose).split()), headings):
            if pointers_only and not pointed_at and heading.words not in in_code:
                continue
            section = _other_section(draft, heading, unit, enclosing)
            if section is not None and section not in seen:
                seen.add(section)
                yield from _edge(draft, unit, heading.words, section)


def _other_section(draft: Draft, heading: _Heading, unit: DraftUnit, enclosing: frozenset[int]) -> int | None:
    """The first section of the unit's file with this heading that does not contain the unit."""
    sections = (index for index in heading.sections if draft.sections[index].file == unit.file)
    return next((index for index in sections if index not in enclosing), None)


def _edge(draft: Draft, unit: DraftUnit, words: str, section: int) -> Iterator[Edge | Finding]:
    line = _line(unit, words)
    target = draft.primary.get(section)
    if target is None:
        yield empty_section(unit, draft.sections[section].title, line)
    elif target.id != unit.id:
        heading = draft.sections[section].lines
        evidence = f"quotes the heading “{words}” (line {heading.first if heading else 1})"
        yield make_edge("R3", unit, target, evidence, (line, target.lines.first), prose=True)


def _by_first_words(draft: Draft) -> dict[tuple[str, str], list[_Heading]]:
    """Headings by their first two words (the second empty if there is only one), the longest first."""
    sections: dict[str, list[int]] = {}
    for index, section in enumerate(draft.sections):
        if section.kind == "heading":
            sections.setdefault(" ".join(plain(section.title).split()), []).append(index)
    headings: dict[tuple[str, str], list[_Heading]] = {}
    for words in sorted(sections, key=lambda title: (-len(title), title)):
        if len(words.split()) >= _MIN_WORDS and len(words) >= _MIN_CHARACTERS and (first := _WORD.search(words)):
            second = _WORD.search(words, first.end())
            key = (first[0], second[0] if second else "")
            headings.setdefault(key, []).append(_Heading(words, first.start(), sections[words]))
    return headings


def _mentions(text: str, headings: dict[tuple[str, str], list[_Heading]]) -> Iterator[tuple[_Heading, bool]]:
    """Headings whose words the text holds, the longest at each position; and whether the text points at them."""
    done = 0
    words = [(match[0], match.start()) for match in _WORD.finditer(text)]
    for (word, offset), (following, _) in pairwise([*words, ("", 0)]):
        if offset < done:
            continue
        for heading in (*headings.get((word, following), ()), *headings.get((word, ""), ())):
            start = offset - heading.lead
            if start >= 0 and text.startswith(heading.words, start) and _stands_alone(text, start, heading.words):
                done = start + len(heading.words)
                yield heading, _is_pointed_at(text, start, done)
                break


def _stands_alone(text: str, start: int, words: str) -> bool:
    """Whether no letter or digit touches the words, and no `#` stands before them."""
    end = start + len(words)
    if text[max(0, start - 8) : start].rstrip(" ").endswith("#"):
        return False
    before_ok = start == 0 or not (text[start - 1].isalnum() and words[0].isalnum())
    return before_ok and (end == len(text) or not (text[end].isalnum() and words[-1].isalnum()))


def _is_pointed_at(text: str, start: int, end: int) -> bool:
    """Whether the text says that the words between two offsets name a section."""
    before = text[max(0, start - 40) : start]
    quoted = start > 0 and end < len(text) and _QUOTES.get(text[start - 1]) == text[end]
    return quoted or _POINTER_AFTER.match(text, end) is not None or _POINTER_BEFORE.search(before) is not None


def _line(unit: DraftUnit, words: str) -> int:
    """The line that holds the words, or their first word where they are spread over lines."""
    lines = [plain(line) for line in unit.prose.split("\n")]
    for wanted in (words, words.split(maxsplit=1)[0]):
        for index, line in enumerate(lines):
            if wanted in line:
                return unit.lines.first + index
    return unit.lines.first
