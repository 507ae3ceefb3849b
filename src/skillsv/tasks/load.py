"""Find out which format tasks are in, and read them."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.sandbox.sources import python_sources
from skillsv.tasks.evals import read_evals
from skillsv.tasks.files import Digester
from skillsv.tasks.harbor import harbor_folders, read_harbor
from skillsv.tasks.inspect_dataset import inspect_place, read_inspect
from skillsv.tasks.jsonl import read_jsonl
from skillsv.tasks.verifiers.specs import split_spec, verifier_sources
from skillsv.trust import file_digest, is_trusted, skill_folder_of, was_trusted

# Task files that lie inside a skill came with it: what they would run or ask is refused until the user trusts it.

_HARMLESS = frozenset({"", "exact", "contains", "regex", "numeric", "choice", "json", "inspect"})
"""Verifiers that run no program and call no model."""


def runs_code(spec: str) -> bool:
    """Whether a verifier runs a program or calls a model that the specification itself names."""
    scheme, rest = split_spec(spec)
    return scheme not in _HARMLESS and not (scheme == "judge" and not rest.strip())


def code_files(path: Path, specs: Iterable[str], folder: Path) -> list[Path]:
    """The files whose bytes decide what these tasks run, as far as they came with the skill that holds `path`.

    `path` is what names the verifiers, `folder` is where files named by them are looked up. The tests of a Harbor task
    are always among them: there is no other file that names them.
    """
    top = (skill_folder_of(path) or folder).resolve()
    found = [path] if path.is_file() else []
    for spec in specs:
        harbor = split_spec(spec)[0] == "harbor"
        found += [file for file in _sources(spec, folder) if harbor or file.resolve().is_relative_to(top)]
    return list(dict.fromkeys(found))


def refuse_untrusted(path: Path, tasks: Sequence[Task], folder: Path, named: Collection[str]) -> None:
    """Raises TaskError where tasks inside a skill name code that is neither trusted nor named by the user's flags."""
    skill = skill_folder_of(path)
    if skill is None:
        return
    guarded = {task.verifier: task.id for task in tasks if runs_code(task.verifier)}
    for spec in [spec for spec in guarded if spec in named]:
        _refuse_two_meanings(spec, folder, skill)
        del guarded[spec]
    untrusted = _untrusted(code_files(path, guarded, folder)) if guarded else []
    if untrusted:
        spec = next(iter(guarded))
        raise TaskError(
            f"The task {guarded[spec]!r} lies inside a skill and names the verifier {spec!r}, which runs code or calls "
            f"a model; {_reason(untrusted[0])}",
            where=str(path),
            hint=f"Name the verifier yourself with --verifier, or {_remedy(path)}",
        )


def refuse_untrusted_program(file: Path) -> None:
    """Raises TaskError where a Python file that makes tasks lies inside a skill and is not trusted."""
    untrusted = _untrusted(python_sources(file)) if file.is_file() and skill_folder_of(file) else []
    if untrusted:
        raise TaskError(
            f"These tasks are made by a program inside a skill; {_reason(untrusted[0])}",
            where=str(file),
            hint=f"To use them, {_remedy(file)}",
        )


def _sources(spec: str, folder: Path) -> Sequence[Path]:
    scheme, rest = split_spec(spec)
    if scheme == "harbor":
        return sorted(file for file in (Path(rest) / "tests").rglob("*") if file.is_file())
    return verifier_sources(spec, folder)


def _untrusted(files: Iterable[Path]) -> list[Path]:
    return [file for file in files if not is_trusted(file, file_digest(file))]


def _reason(file: Path) -> str:
    return f"{file.name} {'has changed since it was trusted' if was_trusted(file) else 'is not trusted'}."


def _remedy(path: Path) -> str:
    return f"read the code and run: skillsv trust {shlex.quote(str(path))}"


def _refuse_two_meanings(spec: str, folder: Path, skill: Path) -> None:
    """A verifier of the user's must not become a file of the same name that lies inside the skill."""
    inside = [file for file in _sources(spec, folder) if file.resolve().is_relative_to(skill.resolve())]
    here = {file.name: file for file in _sources(spec, Path.cwd())}
    for file in inside:
        other = here.get(file.name)
        if other is not None and not other.samefile(file):
            raise TaskError(
                f"The verifier {spec!r} names {file.name}, which lies here and inside the skill.",
                where=str(file),
                hint="Give its whole path.",
            )


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
