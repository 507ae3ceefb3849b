"""Tables in the text of a bulletin: the title above, what it says of basis and unit, and one row's figures by year."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

_SCALE = {"thousands": Decimal(1_000), "millions": Decimal(1_000_000), "billions": Decimal(1_000_000_000)}
_UNIT = re.compile(r"\bin (thousands|millions|billions)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One row of a table: its figures in the order of the columns, and by the year that a column is headed with."""

    row: str
    fiscal: bool
    scale: Decimal
    values: tuple[Decimal, ...]
    by_year: Mapping[str, Decimal]


def scale_of(text: str) -> Decimal:
    """What a figure counts: `in millions of ...` is a million, no such words are one."""
    found = _UNIT.search(text)
    return _SCALE[found.group(1).lower()] if found else Decimal(1)


def figures_above(lines: Sequence[str]) -> Figures | None:
    """The row on the last line, with the header and the title that stand above it; None where it is no row."""
    row = _cells(lines[-1]) if lines else []
    top = len(lines) - 1
    while top > 0 and lines[top - 1].startswith("|"):
        top -= 1
    if not row or top == len(lines) - 1:
        return None
    title = next((line for line in reversed(lines[:top]) if line.strip()), "")
    cells = list(zip(_cells(lines[top])[1:], map(_figure, row[1:]), strict=False))  # a short row ends early
    return Figures(
        row=row[0],
        fiscal="fiscal year" in title.lower(),
        scale=scale_of(title),
        values=tuple(value for _, value in cells if value is not None),
        by_year={year: value for year, value in cells if value is not None},
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def _figure(cell: str) -> Decimal | None:
    try:
        return Decimal(cell.replace(",", ""))
    except InvalidOperation:
        return None
