"""R7 TABLE-CONT: table rows without a header need the unit that carries the header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from skillsv.compiler.draft import Draft, DraftUnit, make_edge
from skillsv.compiler.references import without_code_spans
from skillsv.model.skill import Edge

_DELIMITER = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_PIPE = re.compile(r"(?<!\\)\|")


class _Row(NamedTuple):
    """A row by its line; `framed`: it begins and ends with a pipe."""

    line: int
    columns: int
    framed: bool


def find_table_edges(draft: Draft) -> Iterator[Edge]:
    """Edges to the nearest earlier table of the same file with as many columns, also across headings."""
    latest: dict[tuple[str, int], tuple[DraftUnit, _Row]] = {}
    for unit in draft.body:
        if "|" not in unit.text:
            continue
        headers, loose_rows = _rows(unit)
        own_headers = {row.columns: row.line for row in reversed(headers)}
        seen: set[str] = set()
        for row in loose_rows:
            if own_headers.get(row.columns, row.line) < row.line:
                continue  # the unit itself has a header above this row
            table, header = latest.get((unit.file, row.columns), (None, row))
            if table is not None and table.id not in seen and (row.framed or not header.framed):
                seen.add(table.id)
                evidence = (
                    f"row of {row.columns} columns at line {row.line} continues the table headed at line {header.line}"
                )
                yield make_edge("R7", unit, table, evidence, (row.line, header.line))
        for row in headers:
            latest[unit.file, row.columns] = (unit, row)


def _rows(unit: DraftUnit) -> tuple[list[_Row], list[_Row]]:
    """Header rows, and rows that belong to no table of this unit.

    A row without a pipe at both ends counts only in a paragraph whose every line has a pipe.
    """
    headers: list[_Row] = []
    loose_rows: list[_Row] = []
    lines = [line.strip(" \t>") for line in unit.prose.split("\n")]
    all_rows = unit.form == "paragraph" and all(
        _PIPE.search(line) for line in without_code_spans(unit.prose).splitlines()
    )
    in_table = False
    for index, line in enumerate(lines):
        number = unit.lines.first + index
        if not _PIPE.search(line):
            in_table = False
        elif _is_header(lines, index):
            headers.append(_row(number, line))
            in_table = True
        elif not in_table and not _is_delimiter(line) and (all_rows or _is_framed(line)):
            loose_rows.append(_row(number, line))
    return headers, loose_rows


def _row(number: int, line: str) -> _Row:
    return _Row(number, _columns(line), _is_framed(line))


def _is_header(lines: list[str], index: int) -> bool:
    if index + 1 >= len(lines) or _is_delimiter(lines[index]):
        return False
    below = lines[index + 1]
    return _is_delimiter(below) and _columns(below) == _columns(_without_marker(lines[index]))


def _without_marker(line: str) -> str:
    return re.sub(r"^(?:[-*+]|\d{1,9}[.)])[ \t]+", "", line)


def _is_delimiter(line: str) -> bool:
    return "|" in line and "-" in line and _DELIMITER.fullmatch(line) is not None


def _is_framed(line: str) -> bool:
    return line.startswith("|") and line.endswith("|") and len(line) > 2


def _columns(line: str) -> int:
    return len(_PIPE.split(line.strip().removeprefix("|").removesuffix("|")))
