"""Refuses task files that every agent would receive, because they are files of the skill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from skillsv.errors import TaskError
from skillsv.model.skill import Skill, SkillFile
from skillsv.sandbox.folders import walk_files
from skillsv.tasks.harbor import harbor_folders
from skillsv.tasks.inspect_dataset import parse_inspect_spec
from skillsv.tasks.load import tasks_file


def refuse_delivered_tasks(skill: Skill, path: Path) -> None:
    """Raises TaskError if a file of these tasks, or a copy of the file that holds them, is a file of the skill.

    An agent gets all files of a skill but those in `evals/`, so it could read the answers.
    """
    sources = {file.resolve(): file for file in _task_files(path)}
    copied = next(iter(sources)).read_bytes() if len(sources) == 1 else None
    for file in skill.files:
        if (skill.root / file.path).resolve() in sources or (copied is not None and _holds(file, copied)):
            raise TaskError(
                f"The file {file.path} of the skill holds these tasks: every agent would get the answers.",
                where=str(path),
                hint="Move it out of the skill, or into its folder evals/, which no agent gets.",
            )


def _task_files(path: Path) -> Iterator[Path]:
    """The files that tell what is asked and what the answers are."""
    dataset = parse_inspect_spec(path)
    source = tasks_file(path) if dataset is None else dataset.file
    if source.is_file():
        yield source
    elif source.is_dir():
        for folder in harbor_folders(source):
            yield from (file for file in walk_files(folder) if file.is_file())


def _holds(file: SkillFile, content: bytes) -> bool:
    """Whether the file has exactly this content. An empty file holds no answer."""
    if not content or file.size != len(content):
        return False
    data = file.origin.read_bytes() if file.data is None and file.origin is not None else file.data
    return data == content
