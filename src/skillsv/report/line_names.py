"""Units in words that a reader of the skill knows: line numbers and first words, never internal ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

from skillsv.model.skill import UnitKind
from skillsv.model.value import UnitReport
from skillsv.report.escape import escape_line, shorten
from skillsv.report.sentences import unit_label

_MOST_NAMED = 6
"""Places that a list of lines names; the others are counted."""

_NEIGHBOURS = re.compile(r"line \d+(?:, line \d+)+")
"""Several lines in a row, which read better as `lines 14, 15`."""

_FLAGGED = re.compile(rb"\x01+")
"""A run of positions with a flag."""

_FIRST_WORDS = 48
"""Characters of a line's first words behind its number."""


class LineNames:
    """Names the units of one skill. Lines of the main file need no file name."""

    def __init__(self, units: Sequence[UnitReport], main: str = "SKILL.md") -> None:
        self._units = {unit.id: unit for unit in units}
        self._position = {unit.id: number for number, unit in enumerate(units)}
        self._main = main
        self._other = {unit.id for unit in units if unit.kind is UnitKind.RESOURCE or unit.file != main}
        self._place_in_main = {unit: place for unit, place in self._position.items() if unit not in self._other}
        self._first_lines = [unit.lines.first for unit in units]
        self._last_lines = [unit.lines.last for unit in units]
        ids = sorted(map(re.escape, self._units), key=len, reverse=True)
        self._ids = re.compile("|".join(ids)) if ids else None

    def line(self, unit_id: str) -> str:
        """`line 14`, `lines 14 to 16`, or the path of a whole file."""
        unit = self._units.get(unit_id)
        if unit is None:
            return escape_line(unit_id)
        if unit.kind is UnitKind.RESOURCE:
            return escape_line(unit.file)
        first, last = unit.lines.first, unit.lines.last
        place = f"line {first}" if last <= first else f"lines {first} to {last}"
        return place if unit.file == self._main else f"{place} of {escape_line(unit.file)}"

    def words(self, unit_id: str) -> str:
        """The line and how it begins: `line 14: A ticket that mentions invoice`."""
        unit = self._units.get(unit_id)
        if unit is None or unit.kind is UnitKind.RESOURCE:
            return self.line(unit_id)
        return f"{self.line(unit_id)}: {unit_label(unit, _FIRST_WORDS).rstrip(' :')}"

    def lines(self, unit_ids: Iterable[str]) -> str:
        """Several units in document order: `lines 14 to 18`, `line 12, line 20 and references/a.md`."""
        chosen = frozenset(unit_ids)
        others = sorted(self._other & chosen, key=self._position.__getitem__)
        places, count = _name_ranges(self._ranges(chosen))
        return _sentence_list([*places, *map(self.line, others)], count + len(others))

    def explain(self, text: str) -> str:
        """A text with unit ids, such as the reason of a verdict, with lines in their place."""
        if self._ids is None:
            return text
        named = self._ids.sub(lambda match: self.line(match[0]), text)
        return _NEIGHBOURS.sub(lambda match: "lines" + match[0].removeprefix("line").replace(", line ", ", "), named)

    def _ranges(self, chosen: frozenset[str]) -> list[tuple[int, int]]:
        """The first and last line of each run of neighbouring units in the main file."""
        flags = bytearray(len(self._first_lines) + 1)  # the last one is for names that are no units
        for place in map(self._place_in_main.get, chosen, repeat(-1)):
            flags[place] = 1
        flags[-1] = 0
        runs = (match.span() for match in _FLAGGED.finditer(flags))
        return [(self._first_lines[start], self._last_lines[end - 1]) for start, end in runs]


def _name_ranges(ranges: Sequence[tuple[int, int]]) -> tuple[list[str], int]:
    """`["line 3", "lines 14 to 18"]`, or one text for single lines: `["lines 3, 7 and 9"]`; and how many there are.

    There may be hundreds, so only those that a list names become words.
    """
    named = ranges[:_MOST_NAMED]
    if len(ranges) > 1 and all(first == last for first, last in ranges):
        return [f"lines {_sentence_list([str(first) for first, _ in named], len(ranges))}"], 1
    words = [f"line {first}" if first == last else f"lines {first} to {last}" for first, last in named]
    return words, len(ranges)


def _sentence_list(words: Sequence[str], count: int) -> str:
    """The first words of a list of so many."""
    if count > _MOST_NAMED:
        words = [*words[: _MOST_NAMED - 1], f"{count - _MOST_NAMED + 1} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def distinct_labels(labels: Mapping[str, str], width: int) -> dict[str, str]:
    """Labels of at most `width` characters that stay distinct: where beginnings agree, the middle is left out."""
    cut = {name: shorten(label, width) for name, label in labels.items()}
    groups: dict[str, list[str]] = {}
    for name, label in cut.items():
        groups.setdefault(label, []).append(name)
    for names in groups.values():
        if len(names) > 1:
            cut |= _labels_by_difference([(name, labels[name]) for name in names], width)
    return cut


def _labels_by_difference(group: Sequence[tuple[str, str]], width: int) -> dict[str, str]:
    """For labels with one beginning: a few words of it, then the words where they begin to differ."""
    texts = [label for _, label in group]
    same = next((i for i, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), 0)
    same = max(text.rfind(" ", 0, same) + 1 for text in texts) if same else 0
    head = max(0, width // 2 - 1)
    if same <= head:
        return {name: shorten(label, width) for name, label in group}
    return {name: shorten(f"{label[:head].rstrip()}… {label[same:]}", width) for name, label in group}
