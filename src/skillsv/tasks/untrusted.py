"""Refuses tasks inside a skill that would run code or call a model, until the user trusts the files.

Task files inside a skill came with the skill: their author, not the user, chose the verifiers in them.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.sandbox.folders import walk_files
from skillsv.sandbox.sources import python_sources
from skillsv.tasks.verifiers.specs import split_spec, verifier_files
from skillsv.tasks.verifiers.table import runs_code
from skillsv.trust import file_digest, is_trusted, skill_folder_of, was_trusted


def refuse_untrusted(path: Path, tasks: Sequence[Task], folder: Path, named: Collection[str]) -> None:
    """Raises TaskError if tasks inside a skill run code that is neither trusted nor named by the user's flags.

    `path` is the file that names the verifiers, `folder` the folder of the tasks, `named` the specifications that the
    user has named.
    """
    skill = skill_folder_of(path)
    if skill is None:
        return
    guarded = {task.verifier: task.id for task in tasks if runs_code(task.verifier)}
    for spec in [spec for spec in guarded if spec in named]:
        _refuse_ambiguous(spec, folder, skill)
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
    """Raises TaskError if a Python file that makes tasks lies inside a skill and is not trusted."""
    untrusted = _untrusted(python_sources(file)) if file.is_file() and skill_folder_of(file) else []
    if untrusted:
        raise TaskError(
            f"These tasks are made by a program inside a skill; {_reason(untrusted[0])}",
            where=str(file),
            hint=f"To use them, {_remedy(file)}",
        )


def code_files(path: Path, specs: Iterable[str], folder: Path) -> list[Path]:
    """The files that decide which code these verifiers run, as far as they came with the skill that contains `path`.

    `path` is the file that names the verifiers, `folder` the folder of the tasks. The tests of a Harbor task are always
    included, because no other file names them.
    """
    skill = (skill_folder_of(path) or folder).resolve()
    files = [path] if path.is_file() else []
    for spec in specs:
        is_harbor = split_spec(spec)[0] == "harbor"
        files += [file for file in _sources(spec, folder) if is_harbor or file.resolve().is_relative_to(skill)]
    return list(dict.fromkeys(files))


def _sources(spec: str, folder: Path) -> Sequence[Path]:
    """The files that a verifier runs, the tests of a Harbor task included."""
    scheme, argument = split_spec(spec)
    if scheme == "harbor":
        return sorted(file for file in walk_files(Path(argument) / "tests") if file.is_file())
    covered = verifier_files(spec, folder)
    return [*covered.basic, *(file for _, file in covered.further)]


def _untrusted(files: Iterable[Path]) -> list[Path]:
    return [file for file in files if not is_trusted(file, file_digest(file))]


def _reason(file: Path) -> str:
    return f"{file.name} {'has changed since it was trusted' if was_trusted(file) else 'is not trusted'}."


def _remedy(path: Path) -> str:
    return f"read the code and run: skillsv trust {shlex.quote(str(path))}"


def _refuse_ambiguous(spec: str, folder: Path, skill: Path) -> None:
    """Raises TaskError if a verifier that the user named could mean a file of the skill with the same name."""
    in_skill = [file for file in _sources(spec, folder) if file.resolve().is_relative_to(skill.resolve())]
    in_current_folder = {file.name: file for file in _sources(spec, Path.cwd())}
    for file in in_skill:
        other = in_current_folder.get(file.name)
        if other is not None and not other.samefile(file):
            raise TaskError(
                f"The verifier {spec!r} names {file.name}, which is in the current folder and inside the skill.",
                where=str(file),
                hint="Give its whole path.",
            )
