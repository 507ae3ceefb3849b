"""Reads Harbor task folders: `instruction.md` is what the agent is asked, `tests/test.sh` writes the reward."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.sandbox.folders import walk_files
from skillsv.tasks.files import TaskDigester, refuse_own_folders
from skillsv.tasks.verifiers.harbor import harbor_settings
from skillsv.tasks.verifiers.specs import split_spec

_BUILD_FILES = {"Dockerfile", "docker-compose.yaml", "docker-compose.yml", ".dockerignore"}
"""Files that build a container. They are not copied to the workspace."""


_WITHOUT_EFFECT = {"RUN", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD", "EXPOSE", "VOLUME", "ADD", "ARG", "COPY"}
"""Instructions of a Dockerfile besides FROM. Files of `environment/` lie in the working folder, wherever COPY says."""

_LONGEST_DOCKERFILE = 65_536
"""Bytes of a Dockerfile that are read."""


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


def ignored_builds(tasks: Iterable[Task]) -> str | None:
    """What is not used of the containers that Harbor tasks describe, in one sentence; None where there is none.

    No image is built and no container is started, so an answer may be judged without what the task expects to be there.
    """
    folders = [Path(split_spec(task.verifier)[1]) for task in tasks if split_spec(task.verifier)[0] == "harbor"]
    found = [names for folder in folders if (names := _build_steps(folder / "environment"))]
    if not found:
        return None
    steps = ", ".join(dict.fromkeys(step for names in found for step in names))
    one = "1 Harbor task describes a container that is"
    some = one if len(found) == 1 else f"{len(found)} Harbor tasks describe containers that are"
    return (
        f"{some} not built here; ignored: {steps}. Agent and tests run on this machine, with the files of "
        "environment/ in the working folder: install what the tests need."
    )


def _build_steps(folder: Path) -> list[str]:
    """The instructions of a task's Dockerfile that have no effect here, and its compose files."""
    steps = [name for name in sorted(_BUILD_FILES) if "compose" in name and (folder / name).is_file()]
    file = folder / "Dockerfile"
    if not file.is_file() or file.is_symlink():
        return steps
    text = file.read_bytes()[:_LONGEST_DOCKERFILE].decode("utf-8", errors="replace")
    found: dict[str, int] = {}
    for line in re.sub(r"\\[ \t]*\n", " ", text).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word.upper() == "FROM":
            steps.append(f"base image {rest.split()[0] if rest.split() else '?'}")
        elif word.upper() in _WITHOUT_EFFECT:
            found[word.upper()] = found.get(word.upper(), 0) + 1
    return [*steps, *(f"{number} {word}" for word, number in found.items())]


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
