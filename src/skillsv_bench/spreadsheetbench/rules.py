"""An agent that can only do what the skill tells it, on the real workbooks.

It knows the right value of every cell. Whether its program writes that value depends on the competences of the skill:
without one of them the program makes the mistake that the competence avoids. The program is real, runs like any
model's, and the verifier sees only the workbook that it saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec

from skillsv.extend.sandbox import SANDBOX_LIMITS, convert_disk_errors, find_sandbox_problem
from skillsv.model.rollout import Usage
from skillsv.model.task import Task
from skillsv_bench.benchmark import compile_patterns, find_competences
from skillsv_bench.conversation import Message, Reply, RolloutContext, Tool
from skillsv_bench.spreadsheetbench.agents import ProgramWritingAgent
from skillsv_bench.spreadsheetbench.positions import Area
from skillsv_bench.spreadsheetbench.programs import Runner, libraries
from skillsv_bench.spreadsheetbench.prompt import INPUT, ROWS
from skillsv_bench.spreadsheetbench.verify import CellValues, cells_equal, read_areas, read_gold
from skillsv_bench.spreadsheetbench.workbook import Workbook

COMPETENCE_PATTERNS = compile_patterns(
    {
        "values": r"\b(literal|computed|static) (final )?values?\b|\bvalues?,? (not|instead of|rather than) formula",
        "sheet": r"\b(right|correct|target|destination|named|requested) (work)?sheet\b|\blist (the )?sheets\b",
        "position": r"\b(target|destination|requested|answer) (cells?|columns?|position|range)\b",
        "all-rows": r"\b(all|every|each) (the )?(actual )?rows?\b|\bactual rows\b|\bbeyond the preview\b",
        "numbers": r"\bnumeric outputs? numeric\b|\bnumbers? as (a )?numbers?\b|\bnumber[_ ]format\b",
        "dates": r"\breal (python )?`?(dates?|times?|datetimes?)\b|\bdates? as (a )?dates?\b|\bdate objects?\b",
        "blanks": r"\bblanks? as (an )?empty\b|\bempty cells?\b|\bleave (it|them|cells) (blank|empty)\b",
    }
)
"""The competences that the agent can have, and the words in a skill that teach each."""

FACTS = "facts.json"
"""What the program knows: written beside it, since some tasks are about ten thousand cells."""

_SECONDS = 600.0
"""Some workbooks take openpyxl half a minute to load and as long to save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One task as the agent sees it: what belongs where, and what stands there if nobody writes."""

    areas: tuple[Area, ...]
    gold: CellValues
    left: CellValues
    first_sheet: str

    def cells(self) -> Iterator[tuple[Area, int, int]]:
        for area in self.areas:
            yield from ((area, row, column) for row, column in area)

    def is_right(self, area: Area, row: int, column: int, value: Any) -> bool:
        return cells_equal(self.gold.get((area.sheet, row, column)), value)


def _never_written(case: _Case, wanted: Callable[[Area, int], bool]) -> bool:
    """Whether it shows when cells of some rows are left as they are."""
    return any(
        not case.is_right(area, row, column, case.left.get((area.sheet, row, column)))
        for area, row, column in case.cells()
        if wanted(area, row)
    )


def _one_row_down(case: _Case) -> bool:
    """Whether it shows when everything is written one row too low."""
    for area, row, column in case.cells():
        comes_down = any((row - 1, column) in other for other in case.areas if other.sheet == area.sheet)
        moved = case.gold.get((area.sheet, row - 1, column)) if comes_down else case.left.get((area.sheet, row, column))
        if not case.is_right(area, row, column, moved):
            return True
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_REVEALS_MISTAKE: Mapping[str, Callable[[_Case], bool]] = {
    "values": lambda case: bool(case.gold),
    "sheet": lambda case: _never_written(case, lambda area, _: area.sheet != case.first_sheet),
    "position": _one_row_down,
    "all-rows": lambda case: _never_written(case, lambda _, row: row > ROWS),
    "numbers": lambda case: any(_is_number(value) for value in case.gold.values()),
    "dates": lambda case: any(isinstance(value, date | time | timedelta) for value in case.gold.values()),
    "blanks": lambda case: sum(area.size for area in case.areas) > len(case.gold),
}
"""For each competence, whether the agent fails a task without it."""


def read_competences(text: str) -> frozenset[str]:
    """Find the competences that a rendered skill teaches."""
    return find_competences(COMPETENCE_PATTERNS, text)


def find_needed_competences(task: Task) -> frozenset[str]:
    """Find the competences without which the agent fails this task."""
    case = _case(task)
    return frozenset(name for name, shows in _REVEALS_MISTAKE.items() if shows(case))


def _case(task: Task) -> _Case:
    areas, gold = read_gold(task)
    with task.files[INPUT].open("rb") as file:
        workbook = Workbook(file)
        there = [area for area in areas if area.sheet in workbook.sheets]
        left = read_areas(workbook, there, computed=False)
        return _Case(areas=areas, gold=gold, left=left, first_sheet=workbook.sheets[0])


def facts(task: Task) -> list[dict[str, Any]]:
    """All cells of the task's areas with what belongs there, in words that JSON has; the first sheet comes last.

    So a program that writes everything to the first sheet does not spoil what belongs there.
    """
    areas, gold = read_gold(task)
    with task.files[INPUT].open("rb") as file:
        first = Workbook(file).sheets[0]
    return [
        {
            "sheet": area.sheet,
            "cells": [(row, column, *_encode_value(gold.get((area.sheet, row, column)))) for row, column in area],
        }
        for area in sorted(areas, key=lambda area: area.sheet == first)
    ]


def _encode_value(value: Any) -> tuple[str, Any]:
    """A value and what kind it is."""
    if isinstance(value, timedelta):
        return "duration", value.total_seconds()
    if isinstance(value, date | time):
        kind = "datetime" if isinstance(value, datetime) else type(value).__name__
        return kind, value.isoformat()
    if isinstance(value, str):
        return "text", value
    return ("blank" if value is None else "number" if _is_number(value) else "truth"), value


_PROGRAM = """\
import datetime
import json

import openpyxl

LOOKS = {{"datetime": "yyyy-mm-dd h:mm:ss", "date": "yyyy-mm-dd", "time": "h:mm:ss", "duration": "[hh]:mm:ss"}}


def value_of(kind, told):
    if kind == "blank":
        return {blank}
    if kind == "number":
        return {number}
    if kind in LOOKS:
        return {date}
    return told


def dated(kind, told):
    if kind == "duration":
        return datetime.timedelta(seconds=told)
    return getattr(datetime, kind).fromisoformat(told)


workbook = openpyxl.load_workbook(INPUT_PATH)
for fact in json.load(open("{facts}")):
    name = {sheet}
    sheet = workbook[name] if name in workbook.sheetnames else workbook.create_sheet(name)
    for merged in list(sheet.merged_cells.ranges):
        sheet.unmerge_cells(str(merged))
    for row, column, kind, told in fact["cells"]:
        row = {row}
        if {skipped}:
            continue
        value = value_of(kind, told)
        cell = sheet.cell(row, column)
        cell.value = {value}
        if not isinstance(value, str):
            cell.number_format = LOOKS.get(kind, "General")
        elif {is_text}:
            cell.data_type = "s"
workbook.save(OUTPUT_PATH)
"""

_CHOICES: Mapping[str, tuple[str, str, str]] = {
    "values": ("value", "value", "value if kind == 'blank' else '=' + json.dumps(str(value))"),
    "sheet": ("sheet", 'fact["sheet"]', "workbook.sheetnames[0]"),
    "position": ("row", "row", "row + 1"),
    "all-rows": ("skipped", "False", f"row > {ROWS}"),
    "numbers": ("number", "told", "f'$ {told}'"),
    "dates": ("date", "dated(kind, told)", "str(dated(kind, told))"),
    "blanks": ("blank", "None", "0"),
}
"""For each competence: a placeholder in the program, its text with the competence, and its text without."""


def program(competences: frozenset[str]) -> str:
    """Write the program of an agent with these competences."""
    words = {place: right if name in competences else wrong for name, (place, right, wrong) in _CHOICES.items()}
    is_text = 'value.startswith("=")' if "values" in competences else "False"
    return _PROGRAM.format(facts=FACTS, is_text=is_text, **words)


class RuleFollowingClient:
    """Replies with the program of an agent that has the competences of the skill."""

    fingerprint = "rules/1"

    async def reply(self, messages: Sequence[Message], context: RolloutContext, tools: Sequence[Tool] = ()) -> Reply:
        """The program, with its facts put beside it."""
        del messages, tools
        await anyio.to_thread.run_sync(_write_facts, context.task, context.workspace)
        text = context.skill.text if context.skill is not None else ""
        usage = Usage(input_tokens=0, output_tokens=0, usd=0.0)
        return Reply(text=f"```python\n{program(read_competences(text))}```", usage=usage)


def _write_facts(task: Task, workspace: Path) -> None:
    with convert_disk_errors(workspace):
        (workspace / FACTS).write_bytes(msgspec.json.encode(facts(task)))


def rules() -> ProgramWritingAgent:
    """The agent that follows the rules it finds. Its programs are ours: where there is no sandbox, they run as such."""
    allowed = libraries(sandbox=True)
    sandbox = find_sandbox_problem(allowed.folders) is None
    runner = Runner(sandbox=sandbox, limits=replace(SANDBOX_LIMITS, seconds=_SECONDS), libraries=allowed)
    return ProgramWritingAgent(RuleFollowingClient(), runner, turns=1)
