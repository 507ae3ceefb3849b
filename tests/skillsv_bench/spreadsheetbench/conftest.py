"""Invented workbooks in upstream's layout: a small shop, its stock on a second sheet, dates, gaps, long columns."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

openpyxl = pytest.importorskip("openpyxl", reason="the extra [spreadsheet] is not installed")

Sheets = Mapping[str, Mapping[str, object]]
FRUIT = {"A1": "fruit", "B1": "price", "A2": "apple", "A3": "pear", "A4": "plum", "B2": 1.5, "B3": 2, "B4": 0.25}
STOCK = "Bob's stock"
DAY = dt.datetime(2031, 5, 17, 6, 0)  # noqa: DTZ001 - workbooks know no time zones


def write_book(path: Path, sheets: Sheets) -> Path:
    """A workbook with these cells, whose names and values are given by sheet."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, cells in sheets.items():
        sheet = book.create_sheet(name)
        for place, value in cells.items():
            sheet[place] = value
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)
    return path


def column(letter: str, first: int, values: list) -> dict[str, object]:
    return {f"{letter}{first + number}": value for number, value in enumerate(values)}


LETTERS = [f"row {number}" for number in range(1, 9)]
TASKS = {
    101: ("C2", "", {"Shop": FRUIT}, {"Shop": {**FRUIT, "C2": 3.75}}),
    "7-12": (
        f"'{STOCK}'!A2:A3",
        STOCK,
        {"Shop": FRUIT, STOCK: {"A1": "kept"}},
        {"Shop": FRUIT, STOCK: {"A1": "kept", "A2": "pear", "A3": "plum"}},
    ),
    202: ("D2", "", {"Shop": FRUIT}, {"Shop": {**FRUIT, "D2": DAY}}),
    "31-5": (
        "E2:E4",
        "Shop",
        {"Shop": {**FRUIT, "E3": "old"}},
        {"Shop": {**FRUIT, "E2": "dear", "E4": "cheap"}},
    ),
    303: ("F1:F8", "", {"Shop": FRUIT}, {"Shop": {**FRUIT, **column("F", 1, LETTERS)}}),
}


def instruct(name: int | str, position: str, sheet: str) -> dict[str, object]:
    kind = "Cell-Level Manipulation" if isinstance(name, int) else "Sheet-Level Manipulation"
    item = {"id": name, "instruction": f"Do the sum of task {name}.", "instruction_type": kind}
    return {**item, "answer_position": position, **({"answer_sheet": sheet} if sheet else {})}


class Data:
    """A data folder that tests add to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.items: list[dict[str, object]] = []

    def add(self, name, position, sheet, before: Sheets, after: Sheets) -> None:
        self.items.append(instruct(name, position, sheet))
        write_book(self.file(name, "input"), before)
        write_book(self.file(name, "answer"), after)
        self.save()

    def file(self, name, which: str) -> Path:
        return self.folder / "spreadsheet" / str(name) / f"1_{name}_{which}.xlsx"

    def save(self) -> None:
        (self.folder / "dataset.json").write_text(json.dumps(self.items))

    def manifest(self, split: str, *ids: str) -> None:
        folder = self.folder / "splits" / "spreadsheetbench_id_split" / split
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "items.json").write_text(json.dumps([{"id": name} for name in ids]))


@pytest.fixture
def data(tmp_path) -> Data:
    made = Data(tmp_path / "sheets")
    for name, (position, sheet, before, after) in TASKS.items():
        made.add(name, position, sheet, before, after)
    return made


@pytest.fixture
def empty(tmp_path) -> Data:
    return Data(tmp_path / "few")


@pytest.fixture
def book():
    return write_book


@pytest.fixture
def shared() -> Path:
    place = Path(__file__).resolve().parents[3] / "../shared/benchmarks/spreadsheetbench"
    if not place.is_dir():
        pytest.skip("the published workbooks are not in ../shared/benchmarks/spreadsheetbench")
    return place.resolve()
