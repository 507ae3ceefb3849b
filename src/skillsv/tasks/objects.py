"""Tasks that a Python program passes: `Task` objects, dicts with the keys of a JSONL line, or objects of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.tasks.files import TaskDigester
from skillsv.tasks.jsonl import KEYS, RecordContext, read_record


def tasks_from_objects(
    objects: Sequence[object], *, verifier: str | None = None, judge: str | None = None
) -> tuple[Task, ...]:
    """One task per object. `verifier` and `judge` apply to tasks that name none. Files are relative to the work folder.

    An object that is neither a `Task` nor a dict needs an attribute `input`; the other fields of a task are read from
    attributes of the same name. A task without an id gets its position as its id. Raises TaskError, with the position,
    for an object that is not a task.
    """
    folder = Path.cwd()
    digester = TaskDigester(folder, judge)
    context = RecordContext(files=folder, verifier=verifier, digester=digester)
    tasks = []
    seen: set[str] = set()
    for index, item in enumerate(objects):
        if isinstance(item, Task):
            task = digester(replace(item, verifier=item.verifier or verifier or ""))
        else:
            task = read_record(_record(index, item), context, f"tasks[{index}]")
        if task.id in seen:
            raise TaskError(
                f"The task id `{task.id}` occurs twice.", where=f"tasks[{index}]", hint="Give each task its own id."
            )
        seen.add(task.id)
        tasks.append(task)
    if not tasks:
        raise TaskError("There are no tasks here.", hint="Pass at least one task.")
    return tuple(tasks)


def object_id(index: int, item: object) -> str:
    """The id of the task that stands for an object: its own `id`, or its position."""
    identity = item.get("id") if isinstance(item, Mapping) else getattr(item, "id", None)
    return str(index if identity is None else identity)


def as_text(value: object) -> str:
    """An object as text: JSON where it can be JSON, else what `repr` writes, without addresses of objects."""
    if isinstance(value, str) and value:
        return value
    try:
        return msgspec.json.encode(value, order="sorted").decode()
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
        return f"{type(value).__name__} object" if " at 0x" in text else text


def _record(index: int, item: object) -> Mapping[str, object]:
    """The fields of a task as a JSONL line has them."""
    if isinstance(item, Mapping):
        return {"id": str(index), **item}
    if not hasattr(item, "input"):
        raise TaskError(
            f"A {type(item).__name__} is not a task.",
            where=f"tasks[{index}]",
            hint='Pass a dict such as {"id": "1", "input": "...", "target": "..."}, or an object with `input`.',
        )
    record = {name: getattr(item, name) for name in KEYS if getattr(item, name, None) is not None}
    return {**record, "id": object_id(index, item)}
