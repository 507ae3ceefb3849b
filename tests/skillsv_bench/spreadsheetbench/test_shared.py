"""The published workbooks: every gold passes, no untouched workbook does, and cells are those that openpyxl sees."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path

import openpyxl
import pytest

from skillsv_bench.benchmark import Source
from skillsv_bench.spreadsheetbench.prompt import INPUT
from skillsv_bench.spreadsheetbench.rules import COMPETENCE_PATTERNS, find_needed_competences
from skillsv_bench.spreadsheetbench.tasks import load
from skillsv_bench.spreadsheetbench.verify import matches, read_gold

SMALL = 40_000
UNTOUCHED = {"56225", "73-45"}
"""Tasks that upstream counts as solved before anything is done (they belong to the test split)."""

both = pytest.mark.parametrize("largest", [SMALL, pytest.param(1 << 30, marks=pytest.mark.heavy)], ids=["small", "all"])


load_once = functools.cache(load)


@pytest.fixture
def tasks(shared, largest):
    found = load_once(Source(data=shared)).tasks
    small = [task for task in found if Path(task.target).stat().st_size <= largest]
    assert len(small) == len(found) == 119 or len(small) > 90
    return small


@both
def test_every_gold_passes(tasks):
    assert [task.id for task in tasks if not matches(Path(task.target), *read_gold(task))] == []


@both
def test_no_untouched_workbook_passes_but_the_known(tasks):
    assert {task.id for task in tasks if matches(task.files[INPUT], *read_gold(task))} <= UNTOUCHED


@pytest.mark.heavy
@both
def test_the_values_are_those_that_openpyxl_sees(tasks):
    for task in tasks:
        areas, gold = read_gold(task)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parts that openpyxl does not keep
            book = openpyxl.load_workbook(task.target, data_only=True)
        seen = {
            (area.sheet, row, column): book[area.sheet].cell(row, column).value
            for area in areas
            for row, column in area
        }
        assert {place: value for place, value in seen.items() if value not in (None, "")} == dict(gold), task.id


@pytest.mark.heavy
@pytest.mark.parametrize("largest", [1 << 30])
def test_every_task_needs_some_lesson(tasks):
    wanted = {task.id: find_needed_competences(task) for task in tasks}
    assert all(wanted.values())
    assert set().union(*wanted.values()) == set(COMPETENCE_PATTERNS)
