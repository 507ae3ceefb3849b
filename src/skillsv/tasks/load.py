"""Find out which format tasks are in, and read them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.tasks.digest import Digester
from skillsv.tasks.evals import read_evals
from skillsv.tasks.harbor import harbor_folders, read_harbor
from skillsv.tasks.inspect_dataset import inspect_place, read_inspect
from skillsv.tasks.jsonl import read_jsonl
from skillsv.tasks.untrusted import refuse_untrusted, refuse_untrusted_program


def load_tasks(path: Path, *, verifier: str | None = None, judge: str | None = None) -> tuple[Task, ...]:
    """All tasks at `path`, in the order they stand there.

    A file is JSONL (one object a line) or, if it ends in .json, an `evals.json`. A folder is a Harbor task, a folder of
    Harbor tasks, or a skill with `evals/evals.json`. `inspect:FILE.py@task` is the dataset of a task of Inspect.
    `verifier` serves the tasks that name none, `judge` (an agent) those that are graded by a judge and do not say by
    whom. Raises TaskError with the place and what is wrong there, and where tasks inside a skill name code that is
    neither trusted nor named by these two.
    """
    place = inspect_place(path)
    if place is not None:
        refuse_untrusted_program(place.file)
    tasks = read_tasks(path, verifier=verifier, judge=judge)
    named = {verifier or "", f"judge:{judge}"}
    refuse_untrusted(tasks_file(path), tasks, tasks_folder(path), named)
    return tasks


def read_tasks(path: Path, *, verifier: str | None = None, judge: str | None = None) -> tuple[Task, ...]:
    """All tasks at `path`, whether they are trusted or not: to look at them, not to run them."""
    tasks = tuple(_read(path, verifier, Digester(tasks_folder(path), judge)))
    if not tasks:
        raise TaskError(
            "There are no tasks here.", where=str(path), hint="One JSON object a line with `id` and `input`."
        )
    _refuse_duplicates(tasks, path)
    return tasks


def _read(path: Path, verifier: str | None, digester: Digester) -> Iterable[Task]:
    place = inspect_place(path)
    if place is not None:
        return read_inspect(place, verifier, digester)
    if path.is_dir():
        return _read_folder(path, verifier, digester)
    if not path.is_file():
        raise TaskError("There is no such file or folder.", where=str(path), hint="Give --tasks an existing file.")
    read = read_evals if path.suffix == ".json" else read_jsonl
    return read(path, verifier, digester)


def tasks_folder(path: Path) -> Path:
    """The folder that names in these tasks (files, verifiers) are relative to; `make_verifier` wants it, too."""
    place = inspect_place(path)
    if place is not None:
        return place.beside
    if not path.is_dir():
        return path.parent
    evals = _evals_file(path)
    return path if evals is None else evals.parent


def tasks_file(path: Path) -> Path:
    """The file that names the verifiers; a folder of Harbor tasks is its own."""
    return (_evals_file(path) or path) if path.is_dir() else path


def _evals_file(folder: Path) -> Path | None:
    return next((file for file in (folder / "evals" / "evals.json", folder / "evals.json") if file.is_file()), None)


def _read_folder(path: Path, verifier: str | None, digester: Digester) -> Iterable[Task]:
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


def _refuse_duplicates(tasks: tuple[Task, ...], path: Path) -> None:
    """Ids name tasks in windows and reports, so each may stand only once (JSONL reports its line itself)."""
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise TaskError(
                f"The task id `{task.id}` stands here twice.", where=str(path), hint="Give each task its own."
            )
        seen.add(task.id)
