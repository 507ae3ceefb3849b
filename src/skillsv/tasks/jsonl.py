"""Reads tasks from JSON Lines: `id` and `input`, and optionally the other keys in `KEYS`."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.tasks.files import TaskDigester, task_files
from skillsv.tasks.verifiers.table import KNOWN_SPECS, is_known

KEYS = ("id", "input", "target", "stratum", "files", "verifier", "metadata", "should_trigger")
"""The keys of a task's JSON object. Only `id` and `input` are required."""

STARTER_MARK = "REPLACE THIS:"
"""Inputs and targets that `skillsv init` wrote begin so: they are refused until someone has replaced them."""

_BOM = b"\xef\xbb\xbf"
"""A byte order mark, which some editors write at the beginning of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordContext:
    """What all tasks of one file share: the folder of their files, the default verifier, and the digester."""

    files: Path
    verifier: str | None
    digester: TaskDigester


def read_jsonl(path: Path, verifier: str | None, digester: TaskDigester) -> Iterator[Task]:
    """One task per line that is not blank. Raises TaskError, with `file:line`, for a line that is not a task."""
    context = RecordContext(files=path.parent, verifier=verifier, digester=digester)
    first_line: dict[str, int] = {}
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            text = line.removeprefix(_BOM) if number == 1 else line
            if not text.strip():
                continue
            where = f"{path}:{number}"
            task = read_record(decode_json(text, where), context, where)
            if task.id in first_line:
                raise TaskError(
                    f"The task id `{task.id}` is already used in line {first_line[task.id]}.",
                    where=where,
                    hint="Give each task its own id.",
                )
            first_line[task.id] = number
            yield task


def read_record(record: Any, context: RecordContext, where: str) -> Task:
    """One task from its JSON object. Unknown keys go to `undeclared`, unless they look like a spelling mistake."""
    if not isinstance(record, dict):
        raise TaskError(f"A task must be a JSON object, not {json_kind(record)}.", where=where)
    undeclared = _undeclared(record, where)
    for key in ("input", "target"):
        if isinstance(record.get(key), str) and record[key].startswith(STARTER_MARK):
            raise TaskError(f"`{key}` is still the text that 'skillsv init' wrote.", where=where, hint="Replace it.")
    return context.digester(
        Task(
            id=_id(record, where),
            input=_input(record, where),
            target=record.get("target"),
            stratum=_stratum(record, where),
            files=task_files(record.get("files"), context.files, where),
            verifier=_verifier(record, where) or context.verifier or "",
            metadata=_metadata(record, where),
            undeclared=undeclared,
            should_trigger=_should_trigger(record, where),
        )
    )


def decode_json(text: bytes, where: str) -> Any:
    """The JSON value of the bytes. Raises TaskError if they are not JSON."""
    try:
        text.decode("utf-8")
        return msgspec.json.decode(text)
    except UnicodeDecodeError as error:
        raise TaskError(f"This is not UTF-8 text (byte {error.start} of the line).", where=where) from error
    except msgspec.DecodeError as error:
        raise TaskError(f"This is not JSON: {error}.", where=where, hint="One JSON object a line.") from error
    except RecursionError as error:
        raise TaskError("This JSON is nested too deeply.", where=where) from error


def derived_id(*texts: str) -> str:
    """The id of a task that has none of its own: the same for the same texts, wherever the task stands in its file."""
    return f"t-{hashlib.sha256(repr(texts).encode()).hexdigest()[:10]}"


def json_kind(value: Any) -> str:
    """The kind of a JSON value in words, for messages."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return "an empty text" if value == "" else names.get(type(value), "a number")


def _undeclared(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The keys that are not in `KEYS`. Raises TaskError for one that is similar to a known key that is missing."""
    undeclared = {key: value for key, value in record.items() if key not in KEYS}
    for key in undeclared:
        close = difflib.get_close_matches(key, [known for known in KEYS if known not in record], n=1, cutoff=0.8)
        if close:
            raise TaskError(f"The key `{key}` is not known.", where=where, hint=f"Did you mean `{close[0]}`?")
    return undeclared


def _id(record: Mapping[str, Any], where: str) -> str:
    value = record.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        problem = f"`id` is {json_kind(value)}" if "id" in record else "There is no `id`"
        raise TaskError(f"{problem}.", where=where, hint="Each task needs an `id`: a short text on one line.")
    return value


def _input(record: Mapping[str, Any], where: str) -> str:
    """What the agent is asked. A value that is not text becomes JSON text."""
    value = record.get("input")
    if value is None or value == "":
        problem = "`input` is empty" if "input" in record else "There is no `input`"
        raise TaskError(f"{problem}.", where=where, hint="Each task needs an `input`: what the agent is asked.")
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _stratum(record: Mapping[str, Any], where: str) -> str:
    value = record.get("stratum")
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        raise TaskError(
            f"`stratum` is {json_kind(value)}.", where=where, hint="Name the stratum with a text or a number."
        )
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _verifier(record: Mapping[str, Any], where: str) -> str:
    """The verifier that the task names; empty where it names none. Raises TaskError for an unknown one."""
    value = record.get("verifier")
    if value is not None and not isinstance(value, str):
        raise TaskError(f"`verifier` is {json_kind(value)}, not a text.", where=where)
    if value and not is_known(value):
        hint = f"Known: {', '.join(KNOWN_SPECS)}."
        raise TaskError(f"There is no verifier `{value}`.", where=where, hint=hint)
    return value or ""


def _should_trigger(record: Mapping[str, Any], where: str) -> bool | None:
    value = record.get("should_trigger")
    if value is not None and not isinstance(value, bool):
        raise TaskError(f"`should_trigger` is {json_kind(value)}, not true or false.", where=where)
    return value


def _metadata(record: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    value = record.get("metadata")
    if value is not None and not isinstance(value, dict):
        raise TaskError(f"`metadata` is {json_kind(value)}, not an object.", where=where)
    return value or {}
