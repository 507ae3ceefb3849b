"""The files of a task, which must lie in the folder of the tasks, and the digest of a task."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from skillsv.errors import SettingsError, TaskError
from skillsv.model.fingerprint import ending, extend, first_part
from skillsv.model.protocols import Agent
from skillsv.model.task import Task
from skillsv.sandbox.covered_files import FileWatch
from skillsv.sandbox.sources import digest_files, digest_words
from skillsv.sandbox.workspace import OWN_FOLDERS, is_own_folder
from skillsv.tasks.verifiers.specs import grading_inputs, split_spec, verifier_files

MAX_BYTES = 1024**3
"""Bytes of all files of a task, by their apparent sizes: each rollout gets a copy."""


def task_files(value: Any, folder: Path, where: str) -> dict[str, Path]:
    """The field `files` of a task: a list of paths, or an object from the path in the workspace to the path of a file.

    Paths of files are relative to `folder`. Raises TaskError if a file is missing or outside the folder (by `..` or a
    symlink).
    """
    if value is None:
        return {}
    if isinstance(value, list):
        value = {name: name for name in value if isinstance(name, str)} if _all_text(value) else value
    if not isinstance(value, Mapping) or not _all_text([*value.keys(), *value.values()]):
        raise TaskError(
            "`files` must be a list of paths, or an object from path to path.", where=where, hint='["data.csv"]'
        )
    files = {_workspace_path(name, where): _find_file(source, folder, where) for name, source in value.items()}
    size = sum(file.stat().st_size for file in files.values())
    if size > MAX_BYTES:
        raise TaskError(
            f"The files of the task have {size:,} bytes; {MAX_BYTES:,} are allowed.",
            where=where,
            hint="Each rollout gets a copy.",
        )
    return files


class TaskDigester:
    """Adds the digest to tasks. It changes with everything that the agent or the verifier may see.

    The files of a verifier are read once for all tasks. Tasks with the verifier `judge` become `judge:JUDGE`, because
    another judge may give another score.
    """

    def __init__(self, folder: Path, judge: str | None = None) -> None:
        self._folder = folder
        self._judge = judge
        self._read: dict[str, FileWatch] = {}

    def __call__(self, task: Task, extra: Sequence[Path] = ()) -> Task:
        """The task with its digest, which covers all fields, the bytes of its files, and the files of its verifier.

        The names and bytes of files count, not their folders. `extra` are further files that the verifier reads.
        """
        if task.verifier == "judge" and self._judge:
            task = dataclasses.replace(task, verifier=f"judge:{self._judge}")
        spec = task.verifier if not task.verifier.startswith("harbor:") else "harbor"
        fields = (task.id, task.input, task.target, task.stratum, sorted(task.files), spec, task.all_metadata)
        words = [msgspec.json.encode(fields, order="sorted").decode(), self._verifier_digest(task.verifier)]
        files = [task.files[name] for name in sorted(task.files)]
        inputs = [*self._verifier_files(task.verifier).further, *grading_inputs(task.verifier)]
        digest = extend(digest_files(words, [*files, *extra]), inputs)
        return dataclasses.replace(task, digest=digest)

    def _verifier_digest(self, spec: str) -> str:
        return digest_words([], self._verifier_files(spec).basic)

    def _verifier_files(self, spec: str) -> FileWatch:
        if spec not in self._read:
            self._read[spec] = FileWatch(verifier_files(spec, self._folder))
        return self._read[spec]


def cover_judges(tasks: Sequence[Task], make_judge: Callable[[str], Agent] | None) -> tuple[Task, ...]:
    """The tasks; digests of those that a judge grades also cover the judge: its server, settings and forwarded values.

    The first part of a digest covers the judge's specification and files already, so of a program or function only the
    ending of its fingerprint is added. A judge that cannot be made is left out: `make_verifier` reports it.
    """
    inputs: dict[str, list[str]] = {}
    covered = []
    for task in tasks:
        scheme, argument = split_spec(task.verifier)
        if scheme == "judge" and make_judge is not None:
            if argument not in inputs:
                inputs[argument] = _judge_inputs(argument, make_judge)
            before = [text for text in (ending(task.digest),) if text and inputs[argument]]
            digest = extend(first_part(task.digest) if before else task.digest, [*before, *inputs[argument]])
            task = dataclasses.replace(task, digest=digest)  # noqa: PLW2901
        covered.append(task)
    return tuple(covered)


def _judge_inputs(argument: str, make_judge: Callable[[str], Agent]) -> list[str]:
    try:
        fingerprint = make_judge(argument).fingerprint
    except SettingsError:
        return []
    text = ending(fingerprint) if fingerprint.startswith(("command/", "python/", "planted")) else fingerprint
    return [f"judge {text}"] if text else []


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _workspace_path(name: str, where: str) -> str:
    """The path in the workspace, without `./`. Raises TaskError if it leaves the workspace."""
    pure = PurePosixPath(name)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in name:
        raise TaskError(f"The file `{name}` would lie outside the working folder.", where=where)
    refuse_own_folders([str(pure)], where)
    return str(pure)


def refuse_own_folders(names: Iterable[str], where: str) -> None:
    """Raises TaskError if a file would lie in a folder that SkillSV itself makes in the workspace."""
    for name in names:
        if is_own_folder(name):
            raise TaskError(
                f"The file `{name}` would lie in a folder that belongs to SkillSV.",
                where=where,
                hint=f"Choose another name than {', '.join(OWN_FOLDERS)}.",
            )


def _find_file(name: str, folder: Path, where: str) -> Path:
    """The resolved path of a file. Raises TaskError if it is missing, is not a file, or is outside `folder`."""
    try:
        real = (folder / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise TaskError(f"The file `{name}` was not found.", where=where, hint=f"Looked in {folder}.") from error
    if not real.is_relative_to(folder.resolve()):
        raise TaskError(f"The file `{name}` lies outside the tasks' folder.", where=where, hint="Copy it in there.")
    if not real.is_file():
        raise TaskError(f"`{name}` is not a file.", where=where, hint="Name the files one by one.")
    return real
