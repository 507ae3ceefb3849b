"""Reads Harbor task folders: `instruction.md` is what the agent is asked, `tests/test.sh` writes the reward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.sandbox.folders import walk_files
from skillsv.tasks.files import TaskDigester, refuse_own_folders
from skillsv.tasks.verifiers.harbor import harbor_settings

_BUILD_FILES = {"Dockerfile", "docker-compose.yaml", "docker-compose.yml", ".dockerignore"}
"""Files that build a container. They are not copied to the workspace."""


def harbor_folders(path: Path) -> list[Path]:
    """The folder itself if it is a Harbor task, else all Harbor tasks directly below it."""
    if (path / "instruction.md").is_file():
        return [path]
    return sorted(folder for folder in path.iterdir() if (folder / "instruction.md").is_file())


def read_harbor(folder: Path, verifier: str | None, digester: TaskDigester) -> Task:
    """One Harbor task. No container is built: the files of `environment/` are copied to the workspace.

    `verifier` applies only if the folder has no tests.
    """
    settings = harbor_settings(folder)
    tests = _regular_files(folder / "tests")
    if folder / "tests" / "test.sh" not in tests and verifier is None:
        raise TaskError("There is no tests/test.sh.", where=str(folder), hint="Give --verifier, or add the test.")
    metadata = _table(settings, "metadata")
    task = Task(
        id=folder.resolve().name,
        input=_instruction(folder / "instruction.md"),
        stratum=str(metadata.get("category", "")),
        files=_environment(folder / "environment"),
        verifier=f"harbor:{folder.resolve()}" if folder / "tests" / "test.sh" in tests else verifier or "",
        metadata={"timeout_sec": _table(settings, "verifier").get("timeout_sec"), **metadata},
    )
    return digester(task, tests)


def _instruction(path: Path) -> str:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise TaskError("The instruction is not UTF-8 text.", where=str(path)) from error
    if not text.strip():
        raise TaskError("The instruction is empty.", where=str(path))
    return text


def _table(settings: dict[str, Any], name: str) -> dict[str, Any]:
    table = settings.get(name, {})
    return table if isinstance(table, dict) else {}


def _environment(folder: Path) -> dict[str, Path]:
    """The files of `environment/` without those that build a container."""
    files = {str(path.relative_to(folder)): path for path in _regular_files(folder) if path.name not in _BUILD_FILES}
    refuse_own_folders(files, str(folder))
    return files


def _regular_files(folder: Path) -> list[Path]:
    """All files below a folder, sorted. Symlinks are left out: they may lead out of the folder."""
    if not folder.is_dir() or folder.is_symlink():
        return []
    return sorted(path for path in walk_files(folder) if path.is_file() and not _behind_symlink(path, folder))


def _behind_symlink(path: Path, folder: Path) -> bool:
    return any(part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(folder))
