"""The prompts: system message, task with a preview of the workbook, and reports of failed programs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openpyxl.utils import get_column_letter

from skillsv.model.coalition import Rendering
from skillsv_bench.spreadsheetbench.verify import OUTPUT
from skillsv_bench.spreadsheetbench.workbook import SheetPreview, Workbook

INPUT = "input.xlsx"
"""Where the workbook lies in the working folder."""

_ROLE = f"""\
You are an expert Python programmer who changes spreadsheets. You get an instruction and a preview of a workbook.
Write one complete Python program that reads the workbook from INPUT_PATH, does what the instruction says, and saves
the whole changed workbook to OUTPUT_PATH. Both variables are set already ({INPUT} and {OUTPUT} in the working folder).
The program may use {{libraries}}. It gets no input, has no network, and nobody reads what it prints.
The workbook is checked by its values and nothing recalculates it: a formula that you write counts as an empty cell, so
write values. Reply with exactly one ```python code block."""

_TASK = """\
# Task
Write the program. Leave all other cells as they are. The preview shows only the beginning of each sheet: go through
the rows that are really there instead of counting on those shown."""

NO_CODE = "There is no ```python code block in your reply. Reply with one complete program in a ```python code block."
NO_OUTPUT = "the program ended without an error but saved no workbook to OUTPUT_PATH."

_AGAIN = "Reply with the whole corrected program in a ```python code block."
_LONGEST = 3_000
"""Characters of a failed program's output that are reported: the last ones, which hold the error."""

ROWS = 5
"""Rows of each sheet in the preview."""

COLUMNS = 20
"""Columns of each sheet in the preview."""

LONGEST = 40
"""Characters of one cell in the preview."""

_BLOCK = re.compile(r"^[ \t]*```[ \t]*(?:python3?|py)[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_ANY_BLOCK = re.compile(r"^[ \t]*```[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)


def system_message(skill: Rendering | None, libraries: Sequence[str]) -> str:
    """The system prompt; without a skill its section is absent."""
    text = skill.text.strip() if skill is not None else ""
    *more, last = libraries
    role = _ROLE.format(libraries=f"{', '.join(['the standard library', *more])} and {last}")
    return f"{role}\n\n## Skill\n{text}" if text else role


def user_message(instruction: str, kind: str, position: str, shown: str) -> str:
    """The task as the user puts it."""
    about = "\n".join([f"Instruction type: {kind}", f"Answer position: {position}"])
    return f"# Instruction\n{instruction.strip()}\n\n{about}\n\n# Preview of the workbook\n{shown}\n\n{_TASK}"


def extract_code(reply: str) -> str | None:
    """The first Python block of a reply; one without a language will do."""
    found = _BLOCK.search(reply) or _ANY_BLOCK.search(reply)
    return found.group(1) if found else None


def failure_message(output: str) -> str:
    """Report the end of a failed program's output."""
    return f"The program failed:\n```\n{output[-_LONGEST:]}\n```\n{_AGAIN}"


def preview(workbook: Workbook) -> str:
    """The first rows of every sheet; formulas as they are written."""
    return "\n\n".join(
        f"## Sheet: {name}" + (" (a chart)" if workbook.is_chart(name) else _shown(workbook.top(name, ROWS, COLUMNS)))
        for name in workbook.sheets
    )


def _shown(top: SheetPreview) -> str:
    used = f" (used range {top.used})" if top.used else ""
    last_row = max((row for row, _ in top.cells), default=0)
    last_column = max((column for _, column in top.cells), default=0)
    rows = [
        " | ".join(
            f"{get_column_letter(column)}{row}={_cut(top.cells.get((row, column), ''))}"
            for column in range(1, last_column + 1)
        )
        for row in range(1, last_row + 1)
    ]
    return "\n".join([used, *(rows or ["(its first rows are empty)"])])


def _cut(value: object) -> str:
    text = " ".join(str(getattr(value, "text", value)).split())  # an array formula keeps its words in `text`
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
