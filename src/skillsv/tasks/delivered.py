"""Refuses task files that every agent would receive, because they are files of the skill."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from skillsv.errors import TaskError
from skillsv.model.skill import Skill, SkillFile
from skillsv.sandbox.folders import walk_files
from skillsv.tasks.harbor import harbor_folders
from skillsv.tasks.inspect_dataset import parse_inspect_spec
from skillsv.tasks.jsonl import decode_json
from skillsv.tasks.load import tasks_file

EMPTY = (None, "")
"""What the loader refuses as the id or the input of a task."""


def refuse_delivered_tasks(skill: Skill, path: Path) -> None:
    """Raises TaskError if a file of these tasks, or tasks of the file that holds them, are in a file of the skill.

    An agent gets all files of a skill but those in `evals/`, so it could read the answers.
    """
    sources = {file.resolve(): file for file in _task_files(path)}
    content = next(iter(sources)).read_bytes() if len(sources) == 1 else b""
    for file in skill.files:
        held = "these tasks" if (skill.root / file.path).resolve() in sources else _held_tasks(file, content)
        if held is not None:
            raise TaskError(
                f"The file {file.path} of the skill holds {held}: every agent would get the answers.",
                where=str(path),
                hint="Move it out of the skill, or into its folder evals/, which no agent gets.",
            )


def _task_files(path: Path) -> Iterator[Path]:
    """The files that tell what is asked and what the answers are."""
    dataset = parse_inspect_spec(path)
    source = tasks_file(path) if dataset is None else dataset.file
    if source.is_file():
        yield source
    elif source.is_dir():
        for folder in harbor_folders(source):
            yield from (file for file in walk_files(folder) if file.is_file())


def _held_tasks(file: SkillFile, content: bytes) -> str | None:
    """How much of the task file with this content the file holds, in words; None for nothing.

    Blank lines and the order of keys do not count. It is enough that all tasks of one of the two are in the other.
    """
    if file.data is None:  # too large to be searched
        same = file.origin is not None and file.size == len(content) and file.origin.read_bytes() == content
        return "these tasks" if same and content else None
    lines, tasks = _lines(file.data), _lines(content)
    if lines and lines == tasks:
        return "these tasks"
    held, asked = _records(lines), _records(tasks)
    if asked and asked <= held:
        return "these tasks"
    return "some of these tasks" if held and held < asked else None


def _lines(content: bytes) -> list[bytes]:
    """The lines that are not blank, without spaces around them."""
    lines = (line.strip() for line in content.removeprefix(codecs.BOM_UTF8).splitlines())
    return [line for line in lines if line]


def _records(lines: Iterable[bytes]) -> set[bytes]:
    """The lines that are tasks: JSON objects with `id` and `input`, written again with their keys in order."""
    found: set[bytes] = set()
    for line in lines:
        if not line.startswith(b"{"):
            continue
        with suppress(TaskError):
            record = decode_json(line, "")
            if record.get("id") not in EMPTY and record.get("input") not in EMPTY:
                found.add(json.dumps(record, sort_keys=True).encode())
    return found
