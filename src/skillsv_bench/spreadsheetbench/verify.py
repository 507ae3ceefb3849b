"""Whether the cells that a task is about hold what the gold workbook holds. Styles are not compared."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from datetime import datetime, time
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import anyio.to_thread

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.second_metric import SecondMetric
from skillsv_bench.spreadsheetbench.package import WorkbookError
from skillsv_bench.spreadsheetbench.positions import Area, UnscoreableTask, bounding_area, read_position
from skillsv_bench.spreadsheetbench.workbook import Workbook

OUTPUT = "output.xlsx"
"""Where the answer lies in the working folder."""

_DAY_ZERO = datetime(1899, 12, 30)  # noqa: DTZ001 - workbooks know no time zones
_SECONDS = 86_400
_KEPT = 512

CellValues = Mapping[tuple[str, int, int], Any]
"""What is compared: the value by sheet, row and column; blank cells are left out."""


def normalize(value: Any) -> Any:
    """A value as the rules see it.

    Numbers, truth values and text that reads as a number are rounded to 2 digits; a time is HH:MM; a date with a time
    is its serial number rounded to a day; everything else is itself.
    """
    if isinstance(value, time):
        return value.strftime("%H:%M")
    if isinstance(value, datetime):
        passed = value - _DAY_ZERO
        return round(passed.days + passed.seconds / _SECONDS, 0)
    if isinstance(value, int | float | str):
        try:
            return round(float(value), 2)
        except (ValueError, OverflowError):
            return value
    return value


def cells_equal(left: Any, right: Any) -> bool:
    """Whether two cells count as equal: an empty text is an empty cell, otherwise type and value must agree."""
    left, right = normalize(left), normalize(right)
    if left in (None, "") or right in (None, ""):
        return left in (None, "") and right in (None, "")
    return type(left) is type(right) and bool(left == right)


def read_areas(workbook: Workbook, areas: Sequence[Area], *, computed: bool = True) -> CellValues:
    """The values of all areas, each sheet read once; `computed` False leaves out formulas."""
    found = {}
    for sheet in {area.sheet: None for area in areas}:
        here = [area for area in areas if area.sheet == sheet]
        for (row, column), value in workbook.values(bounding_area(here), computed=computed).items():
            if value != "" and any((row, column) in area for area in here):
                found[sheet, row, column] = value
    return found


@lru_cache(maxsize=_KEPT)
def _gold(path: Path, changed: int, position: str, answer_sheet: str) -> tuple[tuple[Area, ...], CellValues]:
    """The areas of a task and the values that belong there; read once, since each task is scored many times."""
    del changed  # names the version of the file
    with path.open("rb") as file:
        workbook = Workbook(file)
        areas = read_position(position, answer_sheet, workbook.sheets)
        return areas, read_areas(workbook, areas)


def read_gold(task: Task) -> tuple[tuple[Area, ...], CellValues]:
    """What a task wants, and where. Raises VerifierFailure where the gold workbook does not say."""
    path, about = Path(str(task.target)), task.metadata
    try:
        return _gold(path, path.stat().st_mtime_ns, about["answer_position"], about.get("answer_sheet", ""))
    except (OSError, WorkbookError, UnscoreableTask) as error:
        raise VerifierFailure(f"The gold workbook of task {task.id} cannot be used: {error}.") from error


def open_regular_file(path: Path) -> BinaryIO:
    """Open an ordinary file. A program may have left a link, even to the gold workbook, or a pipe: OSError."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    file = os.fdopen(number, "rb")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise OSError(f"{path.name} is not a file")
    return file


def right_share(output: Path, areas: Sequence[Area], gold: CellValues) -> float:
    """The share of cells with the gold's value, of the cells of all areas where the gold or the workbook holds one.

    It is 1 where all of them are blank, and 0 for a workbook that is missing or broken.
    """
    try:
        with open_regular_file(output) as file:
            found = read_areas(Workbook(file), areas)
    except (OSError, WorkbookError):
        return 0.0
    places = gold.keys() | found.keys()
    right = sum(cells_equal(gold.get(place), found.get(place)) for place in places)
    return right / len(places) if places else 1.0


def matches(output: Path, areas: Sequence[Area], gold: CellValues) -> bool:
    """Whether a workbook holds the gold's values in all areas; one that is missing or broken does not."""
    return right_share(output, areas, gold) == 1.0


class CellVerifier:
    """1 where every cell that is asked for is right, else 0."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of the workbook that the agent left."""
        del outcome
        return await anyio.to_thread.run_sync(_score, task, workspace / OUTPUT)


def _score(task: Task, output: Path) -> float:
    areas, gold = read_gold(task)
    return float(matches(output, areas, gold))


def _measure_share(task: Task, workspace: Path) -> float:
    return right_share(workspace / OUTPUT, *read_gold(task))


SOFT_CELL_PASS = SecondMetric(name="soft", title="soft cell pass", in_workspace=_measure_share)
"""The second metric: the share of right cells."""
