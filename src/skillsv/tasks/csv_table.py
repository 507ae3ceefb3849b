"""Reads tasks from CSV: one task a row, the columns are the keys of a JSONL line, or those of a promptfoo test file."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.tasks.files import TaskDigester
from skillsv.tasks.jsonl import RecordContext, decode_json, derived_id, read_record
from skillsv.tasks.promptfoo import TestItem, expected_column, read_promptfoo

_DELIMITERS = (",", ";", "\t")
"""Characters between columns: of the English, the European and the plain-text export of spreadsheets."""

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""What a cell of the column `should_trigger` may say."""


def read_csv(path: Path, verifier: str | None, digester: TaskDigester) -> Iterator[Task]:
    """One task per row. Raises TaskError, with `file:line`, for a row that is not a task.

    Empty cells are left out. `files` are separated by semicolons, `metadata` is a JSON object, and a `target` that is a
    JSON list or object is read as such; everything else is text. Columns that begin with two underscores make it a
    promptfoo test file: the others are its variables.
    """
    context = RecordContext(files=path.parent, verifier=verifier, digester=digester)
    rows = list(_rows(path))
    if rows and any(name.startswith("__") for name in rows[0][0]):
        yield from read_promptfoo({}, [_test_item(row, where) for row, where in rows], context)
        return
    for row, where in rows:
        record = _record({name: cell for name, cell in row.items() if cell.strip()}, where)
        yield read_record({"id": derived_id(str(record.get("input", ""))), **record}, context, where)


def _rows(path: Path) -> Iterator[tuple[dict[str, str], str]]:
    """Every row that is not blank as cells by column, with its location."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "Save the table as CSV UTF-8."
        raise TaskError(f"This is not UTF-8 text (byte {error.start}).", where=str(path), hint=hint) from error
    lines = text.splitlines(keepends=True)
    first = lines[0] if lines else ""
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = _header(next(reader, []), str(path))
        start = reader.line_num
        for cells in reader:
            where = f"{path}:{start + 1}"
            start = reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(header):
                hint = "Put quotes around a cell that holds a separator."
                raise TaskError(f"This row has {len(cells)} cells, the header {len(header)}.", where=where, hint=hint)
            yield dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=True)), where
    except csv.Error as error:
        raise TaskError(f"This is not CSV: {error}.", where=f"{path}:{reader.line_num}") from error


def _header(names: list[str], where: str) -> list[str]:
    header = [name.strip() for name in names]
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise TaskError(f"The column `{twice}` occurs twice.", where=f"{where}:1")
    return header


def _record(row: Mapping[str, str], where: str) -> dict[str, Any]:
    """A row as the JSON object of a JSONL line."""
    record: dict[str, Any] = dict(row)
    if "files" in record:
        record["files"] = [name.strip() for name in record["files"].split(";") if name.strip()]
    if "metadata" in record:
        record["metadata"] = decode_json(record["metadata"].encode(), where)
    if record.get("target", "").lstrip().startswith(("[", "{")):
        record["target"] = decode_json(record["target"].encode(), where)
    if "should_trigger" in record:
        word = record["should_trigger"].strip().casefold()
        if word not in _WORDS:
            raise TaskError(f"`should_trigger` is {word!r}, not true or false.", where=where)
        record["should_trigger"] = _WORDS[word]
    return record


def _test_item(row: Mapping[str, str], where: str) -> TestItem:
    """A row of a promptfoo test file as a test."""
    test: dict[str, Any] = {"vars": {name: cell for name, cell in row.items() if not name.startswith("__")}}
    for name, cell in row.items():
        if name.startswith("__expected") and cell.strip():
            test.setdefault("assert", []).append(expected_column(cell))
        elif name == "__description":
            test["description"] = cell
        elif name.startswith("__") and not name.startswith("__expected") and cell.strip():
            test[name] = cell
    return test, where
