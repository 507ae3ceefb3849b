"""What a model is shown of a workbook: the top left corner of each sheet."""

from __future__ import annotations

from openpyxl.utils import get_column_letter

from skillsv.benchmarks.spreadsheetbench.workbook import Top, Workbook

ROWS, COLUMNS, LONGEST = 5, 20, 40


def preview(workbook: Workbook) -> str:
    """The first rows of every sheet; formulas as they are written."""
    return "\n\n".join(
        f"## Sheet: {name}" + (" (a chart)" if workbook.is_chart(name) else _shown(workbook.top(name, ROWS, COLUMNS)))
        for name in workbook.sheets
    )


def _shown(top: Top) -> str:
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
