"""Where a task wants its answer: upstream's words such as `'Sales'!B2:C9,D4`, read as areas of sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from openpyxl.utils import column_index_from_string

LAST_ROW = 1_048_576
"""The last row of a sheet in Excel."""

LAST_COLUMN = 16_384
"""The last column of a sheet in Excel."""

_QUOTES = "'\""
_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})(?:\s*:\s*\$?([A-Z]{1,3})\$?([0-9]{1,7}))?", re.IGNORECASE)


class UnscoreableTask(Exception):
    """The words name no cells of the gold workbook; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A rectangle of cells on one sheet; rows and columns count from 1, and the last ones belong to it."""

    sheet: str
    first_row: int
    last_row: int
    first_column: int
    last_column: int

    def __contains__(self, cell: tuple[int, int]) -> bool:
        row, column = cell
        return self.first_row <= row <= self.last_row and self.first_column <= column <= self.last_column

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Its cells, row by row."""
        return product(range(self.first_row, self.last_row + 1), range(self.first_column, self.last_column + 1))

    @property
    def size(self) -> int:
        """How many cells it has."""
        return (self.last_row - self.first_row + 1) * (self.last_column - self.first_column + 1)


def bounding_area(areas: Sequence[Area]) -> Area:
    """The smallest area that holds all of these, which are on one sheet."""
    return Area(
        sheet=areas[0].sheet,
        first_row=min(area.first_row for area in areas),
        last_row=max(area.last_row for area in areas),
        first_column=min(area.first_column for area in areas),
        last_column=max(area.last_column for area in areas),
    )


def read_position(position: str, answer_sheet: str, sheets: Sequence[str]) -> tuple[Area, ...]:
    """The areas of an `answer_position`.

    Areas are separated by commas, quotes are stripped wherever they stand. An area that names no sheet is on
    `answer_sheet`; where that is not given either, on the gold's first sheet. Raises UnscoreableTask.
    """
    divided = next((name for name in sheets if "," in name and name in position), None)
    if divided is not None:
        raise UnscoreableTask(f"the name of the sheet '{divided}' has a comma, which divides the answer position")
    default = _unquoted(answer_sheet) or (sheets[0] if sheets else "")
    return tuple(_area(part, default, sheets) for part in position.split(","))


def _area(part: str, default: str, sheets: Sequence[str]) -> Area:
    name, mark, words = part.rpartition("!")
    sheet = _unquoted(name) if mark else default
    match = _RANGE.fullmatch(_unquoted(words))
    if match is None:
        colon = " (its colon is full-width)" if "：" in words else ""
        raise UnscoreableTask(f"the answer position '{part.strip()}' is not a range of cells{colon}")
    if sheet not in sheets:
        raise UnscoreableTask(f"the answer belongs on a sheet '{sheet}', which the gold workbook does not have")
    column, row, last_column, last_row = match.groups()
    area = Area(
        sheet=sheet,
        first_row=int(row),
        last_row=int(last_row or row),
        first_column=column_index_from_string(column.upper()),
        last_column=column_index_from_string((last_column or column).upper()),
    )
    if not (0 < area.first_row <= area.last_row <= LAST_ROW and area.first_column <= area.last_column <= LAST_COLUMN):
        raise UnscoreableTask(f"the answer position '{part.strip()}' is not a range of cells")
    return area


def _unquoted(words: str) -> str:
    return words.strip().strip(_QUOTES)
