"""Task files that lie inside a skill came with it: what they would run or ask is refused until the user trusts it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.sandbox.sources import python_sources
from skillsv.tasks.verifiers.specs import split_spec, verifier_sources
from skillsv.trust import file_digest, is_trusted, skill_folder_of, was_trusted

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
