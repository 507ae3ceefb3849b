"""Tasks as JSON Lines: `id` and `input`, and if wanted `target`, `stratum`, `files`, `verifier`, `metadata`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.tasks.files import Digester, task_files

KEYS = ("id", "input", "target", "stratum", "files", "verifier", "metadata")
_BOM = b"\xef\xbb\xbf"


def read_jsonl(path: Path, verifier: str | None, digester: Digester) -> Iterator[Task]:
    """One task per line that is not blank. A broken line is a TaskError that names `file:line`."""
    source = Source(files=path.parent, verifier=verifier, digester=digester)
    first_line: dict[str, int] = {}
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            text = line.removeprefix(_BOM) if number == 1 else line
            if not text.strip():
                continue
            where = f"{path}:{number}"
            task = read_record(decode(text, where), source, where)
            if task.id in first_line:
                raise TaskError(
                    f"The task id `{task.id}` stands already in line {first_line[task.id]}.",
                    where=where,
                    hint="Give each task its own.",
                )
            first_line[task.id] = number
            yield task


def decode(text: bytes, where: str) -> Any:
    """The JSON value of some bytes, or a TaskError that says what is wrong with them."""
    try:
        text.decode("utf-8")
        return msgspec.json.decode(text)
    except UnicodeDecodeError as error:
        raise TaskError(f"This is not UTF-8 text (byte {error.start} of the line).", where=where) from error
    except msgspec.DecodeError as error:
        raise TaskError(f"This is not JSON: {error}.", where=where, hint="One JSON object a line.") from error
    except RecursionError as error:
        raise TaskError("This JSON is nested too deeply.", where=where) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What all tasks of one file share: where their files are, the verifier of those that name none, and digests."""

    files: Path
    verifier: str | None
    digester: Digester


def read_record(record: Any, source: Source, where: str) -> Task:
    """One task from its JSON object; keys we do not know go to `undeclared`, unless they look like a slip."""
    if not isinstance(record, dict):
        raise TaskError(f"A task must be a JSON object, not {kind(record)}.", where=where)
    extra = _unknown(record, where)
    return source.digester(
        Task(
            id=_id(record, where),
            input=_input(record, where),
            target=record.get("target"),
            stratum=_stratum(record, where),
            files=task_files(record.get("files"), source.files, where),
            verifier=_text(record, "verifier", where) or source.verifier or "",
            metadata=_metadata(record, where),
            undeclared=extra,
        )
    )


def _unknown(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Other columns of a data set are kept; a key one letter away from ours is a mistake worth stopping for."""
    extra = {key: value for key, value in record.items() if key not in KEYS}
    for key in extra:
        close = difflib.get_close_matches(key, [known for known in KEYS if known not in record], n=1, cutoff=0.8)
        if close:
            raise TaskError(f"The key `{key}` is not known.", where=where, hint=f"Did you mean `{close[0]}`?")
    return extra


def _id(record: Mapping[str, Any], where: str) -> str:
    value = record.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        problem = f"`id` is {kind(value)}" if "id" in record else "There is no `id`"
        raise TaskError(f"{problem}.", where=where, hint="Each task needs an `id`: a short text on one line.")
    return value


def _input(record: Mapping[str, Any], where: str) -> str:
    """What the agent is asked; a value that is not text reaches it as JSON text."""
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
        raise TaskError(f"`stratum` is {kind(value)}.", where=where, hint="Name the stratum with a text or a number.")
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _text(record: Mapping[str, Any], key: str, where: str) -> str:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise TaskError(f"`{key}` is {kind(value)}, not a text.", where=where)
    return value or ""


def _metadata(record: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    value = record.get("metadata")
    if value is not None and not isinstance(value, dict):
        raise TaskError(f"`metadata` is {kind(value)}, not an object.", where=where)
    return value or {}


def kind(value: Any) -> str:
    """A JSON value's kind in words."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return "an empty text" if value == "" else names.get(type(value), "a number")
