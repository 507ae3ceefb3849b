"""R3 HEADING-REF (heuristic): a unit needs the section whose heading it quotes word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from skillsv.compile.draft import Draft, DraftUnit, edge, empty_section
from skillsv.compile.names import plain
from skillsv.model.skill import Edge, Finding

_WORD = re.compile(r"\w+")
_LEAST_WORDS = 2
_LEAST_CHARACTERS = 8


class _Heading(NamedTuple):
    words: str
    lead: int  # characters before the first word
    sections: list[int]


def heading_ref(draft: Draft) -> Iterator[Edge | Finding]:
    """Edges to the primary units of quoted headings: outside code, never to the unit's own or an enclosing section."""
    headings = _by_first_words(draft)
    if not headings:
        return
    for unit in draft.body:
        own = draft.ancestors(unit.heading)
        seen: set[int] = set()
        for found in _mentions(" ".join(plain(unit.prose).split()), headings):
            section = next((one for one in found.sections if one not in own), None)
            if section is not None and section not in seen:
                seen.add(section)
                yield from _refer(draft, unit, found.words, section)


def _refer(draft: Draft, unit: DraftUnit, words: str, section: int) -> Iterator[Edge | Finding]:
    line = _line(unit, words)
    target = draft.primary.get(section)
    if target is None:
        yield empty_section(unit, draft.sections[section].title, line)
    elif target.id != unit.id:
        heading = draft.sections[section].lines
        evidence = f"quotes the heading “{words}” (line {heading.first if heading else 1})"
        yield edge("R3", unit, target, evidence, (line, target.lines.first))


def _by_first_words(draft: Draft) -> dict[tuple[str, str], list[_Heading]]:
    """Headings by their first two words (the second empty if there is only one), the longest first."""
    sections: dict[str, list[int]] = {}
    for index, section in enumerate(draft.sections):
        if section.kind == "heading":
            sections.setdefault(" ".join(plain(section.title).split()), []).append(index)
    found: dict[tuple[str, str], list[_Heading]] = {}
    for words in sorted(sections, key=lambda title: (-len(title), title)):
        if len(words.split()) >= _LEAST_WORDS and len(words) >= _LEAST_CHARACTERS and (first := _WORD.search(words)):
            second = _WORD.search(words, first.end())
            key = (first[0], second[0] if second else "")
            found.setdefault(key, []).append(_Heading(words, first.start(), sections[words]))
    return found


def _mentions(text: str, headings: dict[tuple[str, str], list[_Heading]]) -> Iterator[_Heading]:
    """Headings quoted in the text, the longest at each place, none inside another."""
    done = 0
    words = [(match[0], match.start()) for match in _WORD.finditer(text)]
    for (word, at), (following, _) in pairwise([*words, ("", 0)]):
        if at < done:
            continue
        for heading in (*headings.get((word, following), ()), *headings.get((word, ""), ())):
            start = at - heading.lead
            if start >= 0 and text.startswith(heading.words, start) and _stands_alone(text, start, heading.words):
                done = start + len(heading.words)
                yield heading
                break


def _stands_alone(text: str, start: int, words: str) -> bool:
    end = start + len(words)
    if text[max(0, start - 8) : start].rstrip(" ").endswith("#"):
        return False
    before_ok = start == 0 or not (text[start - 1].isalnum() and words[0].isalnum())
    return before_ok and (end == len(text) or not (text[end].isalnum() and words[-1].isalnum()))


def _line(unit: DraftUnit, words: str) -> int:
    lines = [plain(line) for line in unit.prose.split("\n")]
    first = words.split(maxsplit=1)[0]
    whole = next((index for index, line in enumerate(lines) if words in line), None)
    return unit.lines.first + (
        whole if whole is not None else next((index for index, line in enumerate(lines) if first in line), 0)
    )
