"""Reads tasks: finds out the format of a file or folder, and calls the reader of that format.

To add a format, write a reader that returns `Task` objects (see `jsonl.py`) and add it to `READERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.tasks.csv_table import read_csv
from skillsv.tasks.evals import read_evals
from skillsv.tasks.files import TaskDigester
from skillsv.tasks.harbor import harbor_folders, read_harbor
from skillsv.tasks.inspect_dataset import parse_inspect_spec, read_inspect
from skillsv.tasks.jsonl import read_jsonl
from skillsv.tasks.untrusted import refuse_untrusted, refuse_untrusted_program

Reader = Callable[[Path, str | None, TaskDigester], Iterable[Task]]
"""Reads the tasks of a file. Its arguments: path, the verifier of tasks that name none, the digester."""


def _read_yaml(path: Path, verifier: str | None, digester: TaskDigester) -> Iterable[Task]:
    from skillsv.tasks.yaml_file import read_yaml  # only here: the parser takes time to import

    return read_yaml(path, verifier, digester)


READERS: Mapping[str, Reader] = {
    ".json": read_evals,
    ".csv": read_csv,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
"""The reader of a file by the ending of its name. All other files are JSON Lines."""


def load_tasks(path: Path, *, verifier: str | None = None, judge: str | None = None) -> tuple[Task, ...]:
    """All tasks at `path`, in the order of the file.

    A file is JSONL (one object a line), or by the ending of its name an `evals.json`, CSV or YAML. A folder is a Harbor
    task, a folder of Harbor tasks, or a skill with `evals/evals.json`. `inspect:FILE.py@task` is the dataset of an
    Inspect task. `verifier` applies to tasks that name none, `judge` (an agent) to tasks that need a judge and do not
    name one.
    Raises TaskError with the location and the problem, also if tasks inside a skill name code that the user neither
    trusts nor names with these two arguments.
    """
    dataset = parse_inspect_spec(path)
    if dataset is not None:
        refuse_untrusted_program(dataset.file)
    tasks = read_tasks(path, verifier=verifier, judge=judge)
    named = {verifier or "", f"judge:{judge}"}
    refuse_untrusted(tasks_file(path), tasks, tasks_folder(path), named)
    return tasks


def read_tasks(path: Path, *, verifier: str | None = None, judge: str | None = None) -> tuple[Task, ...]:
    """All tasks at `path`, trusted or not: for commands that show them and do not run them."""
    tasks = tuple(_read(path, verifier, TaskDigester(tasks_folder(path), judge)))
    if not tasks:
        raise TaskError(
            "There are no tasks here.", where=str(path), hint="One JSON object a line with `id` and `input`."
        )
    _refuse_duplicates(tasks, path)
    return tasks


def tasks_folder(path: Path) -> Path:
    """The folder to which names in these tasks (files, verifiers) are relative: the `folder` of `make_verifier`."""
    dataset = parse_inspect_spec(path)
    if dataset is not None:
        return dataset.file.parent
    if not path.is_dir():
        return path.parent
    evals = _evals_file(path)
    return path if evals is None else evals.parent


def tasks_file(path: Path) -> Path:
    """The file that names the verifiers; for Harbor tasks the folder itself."""
    return (_evals_file(path) or path) if path.is_dir() else path


def _read(path: Path, verifier: str | None, digester: TaskDigester) -> Iterable[Task]:
    """Choose the reader of the format, and read the tasks."""
    dataset = parse_inspect_spec(path)
    if dataset is not None:
        return read_inspect(dataset, verifier, digester)
    if path.is_dir():
        return _read_folder(path, verifier, digester)
    if not path.is_file():
        raise TaskError("There is no such file or folder.", where=str(path), hint="Give --tasks an existing file.")
    return READERS.get(path.suffix.lower(), read_jsonl)(path, verifier, digester)


def _read_folder(path: Path, verifier: str | None, digester: TaskDigester) -> Iterable[Task]:
    evals = _evals_file(path)
    if evals is not None:
        return read_evals(evals, verifier, digester)
    folders = harbor_folders(path)
    if not folders:
        raise TaskError(
            "This folder holds no tasks.",
            where=str(path),
            hint="Expected evals/evals.json, or Harbor tasks (folders with instruction.md and tests/test.sh).",
        )
    return [read_harbor(folder, verifier, digester) for folder in folders]


def _evals_file(folder: Path) -> Path | None:
    return next((file for file in (folder / "evals" / "evals.json", folder / "evals.json") if file.is_file()), None)


def _refuse_duplicates(tasks: tuple[Task, ...], path: Path) -> None:
    """Raises TaskError if two tasks have the same id. The JSONL reader reports this earlier, with the line."""
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise TaskError(
                f"The task id `{task.id}` occurs twice.", where=str(path), hint="Give each task its own id."
            )
        seen.add(task.id)
