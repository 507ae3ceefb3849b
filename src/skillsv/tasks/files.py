"""The files a task brings along: found beside the tasks, never outside their folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.sandbox.sources import digest_files
from skillsv.tasks.verifiers.specs import verifier_sources


def task_files(value: Any, folder: Path, where: str) -> dict[str, Path]:
    """`files` of a task: a list of paths, or an object from the path in the working folder to the path of the file.

    Paths of files are relative to `folder`. One that is missing, or leaves the folder by `..` or a symlink, is refused.
    """
    if value is None:
        return {}
    if isinstance(value, list):
        value = {name: name for name in value if isinstance(name, str)} if _all_text(value) else value
    if not isinstance(value, Mapping) or not _all_text([*value.keys(), *value.values()]):
        raise TaskError(
            "`files` must be a list of paths, or an object from path to path.", where=where, hint='["data.csv"]'
        )
    return {_destination(name, where): found_file(source, folder, where) for name, source in value.items()}


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _destination(name: str, where: str) -> str:
    """The path in the working folder, cleaned of `./`."""
    pure = PurePosixPath(name)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in name:
        raise TaskError(f"The file `{name}` would lie outside the working folder.", where=where)
    return str(pure)


def found_file(name: str, folder: Path, where: str) -> Path:
    """Where the named file really lies; a TaskError if it is missing, no file, or outside `folder`."""
    try:
        real = (folder / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise TaskError(f"The file `{name}` was not found.", where=where, hint=f"Looked in {folder}.") from error
    if not real.is_relative_to(folder.resolve()):
        raise TaskError(f"The file `{name}` lies outside the tasks' folder.", where=where, hint="Copy it in there.")
    if not real.is_file():
        raise TaskError(f"`{name}` is not a file.", where=where, hint="Name the files one by one.")
    return real


# The digest of a task: it changes with anything the agent or the verifier may see.


class Digester:
    """Gives tasks their digests. Files behind a verifier are read once for all the tasks that it checks.

    `judge` is written into the verifier of tasks that leave their judge open: another judge may score otherwise.
    """

    def __init__(self, folder: Path, judge: str | None = None) -> None:
        self._folder = folder
        self._judge = judge
        self._verifiers: dict[str, str] = {}

    def __call__(self, task: Task, extra: Sequence[Path] = ()) -> Task:
        """The task with its digest: all fields, the bytes of its files, and of the program or function that checks it.

        Where files lie does not matter, only their names and bytes. `extra` are further files that the verifier reads.
        """
        if task.verifier == "judge" and self._judge:
            task = dataclasses.replace(task, verifier=f"judge:{self._judge}")
        spec = task.verifier if not task.verifier.startswith("harbor:") else "harbor"
        fields = (task.id, task.input, task.target, task.stratum, sorted(task.files), spec, task.all_metadata)
        words = [msgspec.json.encode(fields, order="sorted").decode(), self._verifier(task.verifier)]
        files = [task.files[name] for name in sorted(task.files)]
        return dataclasses.replace(task, digest=digest_files(words, [*files, *extra]))

    def _verifier(self, spec: str) -> str:
        if spec not in self._verifiers:
            self._verifiers[spec] = digest_files([], verifier_sources(spec, self._folder))
        return self._verifiers[spec]
