"""Which cells count as equal, and what becomes of workbooks that are wrong, broken or worse."""

from __future__ import annotations

import datetime as dt
import os
import zipfile
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv_bench.benchmark import Source
from skillsv_bench.spreadsheetbench import BENCHMARK, package
from skillsv_bench.spreadsheetbench.tasks import load
from skillsv_bench.spreadsheetbench.verify import OUTPUT, CellVerifier, cells_equal, matches, read_gold


def at(*when: int) -> dt.datetime:
    return dt.datetime(*when)  # noqa: DTZ001 - workbooks know no time zones


EQUAL = [
    (1, 1.0),
    (1.004, 1),
    (2.675, 2.67),  # the number that is meant by 2.675 lies below it
    (-0.001, 0),
    (0.1 + 0.2, 0.3),
    ("12", 12),
    (" 12.50 ", 12.5),
    ("1e3", 1000),
    (True, 1),
    ("0", False),
    ("inf", "Infinity"),
    (10**400, 10**400),
    ("", None),
    (None, None),
    ("", ""),
    ("pear", "pear"),
    ("#N/A", "#N/A"),
    (dt.time(8, 30), dt.time(8, 30, 59)),
    (dt.time(8, 30), "08:30"),
    (at(2031, 5, 17), at(2031, 5, 17, 11, 59)),
    (at(2031, 5, 17, 13), at(2031, 5, 18)),
    (at(1900, 1, 10), 11),
    (at(2031, 5, 17), "47985"),
    (dt.date(2031, 5, 17), dt.date(2031, 5, 17)),
    (timedelta(hours=30), timedelta(days=1, hours=6)),
]
DIFFERENT = [
    (1.006, 1),
    (0, None),
    ("", 0),
    (None, False),
    ("12 pears", 12),
    ("1,000", 1000),
    ("50%", 0.5),
    (True, "TRUE"),
    ("pear", "Pear"),
    ("pear ", "pear"),
    ("nan", "nan"),
    ("#N/A", None),
    (dt.time(8, 30), dt.time(8, 31)),
    (dt.time(8, 30), "8:30"),
    (dt.time(6, 0), 0.25),
    (at(2031, 5, 17), at(2031, 5, 18)),
    (at(2031, 5, 17, 11), at(2031, 5, 17, 13)),
    (at(2031, 5, 17), "2031-05-17"),
    (at(2031, 5, 17), dt.date(2031, 5, 17)),
    (timedelta(hours=30), dt.time(6, 0)),
]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_cells_that_count_as_equal(left, right):
    assert cells_equal(left, right)
    assert cells_equal(right, left)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_cells_that_do_not(left, right):
    assert not cells_equal(left, right)
    assert not cells_equal(right, left)


def score(task, output: Path | None, tmp_path) -> float:
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    place = folder / OUTPUT
    if output is not None:
        place.write_bytes(output.read_bytes())
    return anyio.run(CellVerifier().score, task, Outcome(answer=""), folder)


@pytest.fixture
def task(data):
    return {task.id: task for task in load(Source(data=data.folder)).tasks}


def test_reference_passes_and_noop_does_not(task, tmp_path):
    for number, (name, one) in enumerate(task.items()):
        for agent, expected in (("reference", 1.0), ("noop", 0.0)):
            folder = tmp_path / f"{agent}{number}"
            folder.mkdir()
            outcome = anyio.run(BENCHMARK.builtin_agents[agent]().run, None, one, 0, folder)
            assert anyio.run(BENCHMARK.verifier().score, one, outcome, folder) == expected, (agent, name)


@pytest.mark.parametrize(
    ("name", "sheets", "expected"),
    [
        ("101", {"Shop": {"C2": "3.751"}}, 1.0),
        ("101", {"Shop": {"C2": 3.7}}, 0.0),
        ("101", {"Shop": {"C2": "=3.75"}}, 0.0),
        ("101", {"Elsewhere": {"A1": 1}, "Shop": {"C2": 3.75}}, 1.0),
        ("101", {"shop": {"C2": 3.75}}, 0.0),
        ("31-5", {"Shop": {"E2": "dear", "E3": "", "E4": "cheap", "E5": "not asked"}}, 1.0),
        ("31-5", {"Shop": {"E2": "dear", "E3": 0, "E4": "cheap"}}, 0.0),
        ("202", {"Shop": {"D2": at(2031, 5, 17)}}, 1.0),
        ("202", {"Shop": {"D2": "2031-05-17"}}, 0.0),
        ("7-12", {"Shop": {"A2": "pear", "A3": "plum"}}, 0.0),
    ],
)
def test_only_the_cells_that_are_asked_for_are_compared(task, book, tmp_path, name, sheets, expected):
    assert score(task[name], book(tmp_path / "made.xlsx", sheets), tmp_path) == expected


def test_cells_between_several_areas_are_not_compared(empty, book, tmp_path):
    before, after = {"A": {"C1": 0}, "B": {}}, {"A": {"C1": 1, "C5": 3}, "B": {"A2": 2}}
    empty.add(1, "A!C1,'B!'A2:B2,'A'!C5", "", before, after)
    one = load(Source(data=empty.folder)).tasks[0]
    areas, gold = read_gold(one)
    assert len(areas) == 3
    assert dict(gold) == {("A", 1, 3): 1, ("A", 5, 3): 3, ("B", 2, 1): 2}
    for number, (changes, expected) in enumerate(
        [({}, 1.0), ({"C3": "between"}, 1.0), ({"C5": 4}, 0.0), ({"C1": None}, 0.0)]
    ):
        made = book(tmp_path / f"{number}.xlsx", {**after, "A": {**after["A"], **changes}})
        assert score(one, made, tmp_path) == expected


def _zip(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def changed(origin: Path, path: Path, part: str, change) -> Path:
    with zipfile.ZipFile(origin) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return _zip(path, {**parts, part: change(parts[part])})


SHEET = "xl/worksheets/sheet1.xml"
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a "'
    + b"ha" * 500
    + b'">'
    + b"".join(f'<!ENTITY {c} "{f"&{p};" * 100}">'.encode() for p, c in ("ab", "bc", "cd", "de"))
    + b']><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="2">'
    b'<c r="C2" t="str"><v>&e;</v></c></row></sheetData></worksheet>'
)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda _: b"",
        lambda _: b"<worksheet>",
        lambda _: LAUGHS,
        lambda text: text.replace(b'r="C2"', b'r="C2" t="s"'),
        lambda text: text.replace(b'<row r="2"', b'<row r="two"'),
        lambda text: text.replace(b"<v>3.75</v>", b"<v>three</v>"),
    ],
    ids=["cut", "empty", "open", "billion laughs", "no such string", "no such row", "no number"],
)
def test_a_broken_sheet_is_a_wrong_answer(task, data, tmp_path, change):
    made = changed(data.file(101, "answer"), tmp_path / "made.xlsx", SHEET, change)
    assert score(task["101"], made, tmp_path) == 0.0


def test_what_is_no_workbook_is_a_wrong_answer(task, data, tmp_path):
    gold = data.file(101, "answer").read_bytes()
    for number, bytes_ in enumerate((b"", b"PK", b"words", gold[:500], gold[: len(gold) - 30])):
        place = tmp_path / f"{number}.xlsx"
        place.write_bytes(bytes_)
        assert score(task["101"], place, tmp_path) == 0.0
    assert score(task["101"], _zip(tmp_path / "other.zip", {"readme.txt": b"hello"}), tmp_path) == 0.0


def test_a_missing_workbook_is_a_wrong_answer(task, tmp_path):
    assert score(task["101"], None, tmp_path) == 0.0


def test_neither_links_nor_pipes_nor_folders_are_followed(task, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    place = folder / OUTPUT
    place.symlink_to(task["101"].target)
    assert score(task["101"], None, tmp_path) == 0.0
    place.unlink()
    os.mkfifo(place)
    assert score(task["101"], None, tmp_path) == 0.0
    place.unlink()
    place.mkdir()
    assert score(task["101"], None, tmp_path) == 0.0


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(task, data, tmp_path, monkeypatch):
    areas, gold = read_gold(task["101"])
    bomb = changed(data.file(101, "answer"), tmp_path / "bomb.xlsx", SHEET, lambda text: text + b" " * 11_000_000)
    assert bomb.stat().st_size < 100_000
    monkeypatch.setattr(package, "MAX_UNPACKED_BYTES", 10_000_000)
    monkeypatch.setattr(package, "iterparse", lambda *_, **__: pytest.fail("it was unpacked"))
    assert not matches(bomb, areas, gold)


@pytest.mark.parametrize("limit", ["MAX_PACKED_BYTES", "MAX_UNPACKED_BYTES", "MAX_PART_BYTES", "MAX_XML_EVENTS"])
def test_each_bound_holds(task, data, tmp_path, monkeypatch, limit):
    areas, gold = read_gold(task["101"])
    assert matches(data.file(101, "answer"), areas, gold)
    monkeypatch.setattr(package, limit, 20)
    assert not matches(data.file(101, "answer"), areas, gold)


def test_a_gold_workbook_that_cannot_be_read_is_a_failure_and_no_score(task, data, tmp_path):
    data.file(101, "answer").write_bytes(b"words")
    with pytest.raises(VerifierFailure, match="gold workbook of task 101 cannot be used: it cannot be read"):
        score(task["101"], data.file(101, "input"), tmp_path)
    data.file(202, "answer").unlink()
    with pytest.raises(VerifierFailure, match="gold workbook of task 202"):
        score(task["202"], data.file(101, "input"), tmp_path)


def test_a_gold_workbook_that_changes_is_read_again(task, data, book, tmp_path):
    made = book(tmp_path / "made.xlsx", {"Shop": {"C2": 5}})
    assert score(task["101"], made, tmp_path) == 0.0
    book(data.file(101, "answer"), {"Shop": {"C2": 5}})
    os.utime(data.file(101, "answer"), ns=(1, 1))
    assert score(task["101"], made, tmp_path) == 1.0
