"""Tasks and skills as programs and functions of the user see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NoReturn

from skillsv.model.coalition import RenderedFile, Rendering
from skillsv.model.task import Task
from skillsv.sandbox.workspace import place_skill

GRADING = frozenset({"target", "verifier"})
"""Fields of a task that the agent does not see unless the user sets --show-target."""


def public_task_fields(task: Task) -> dict[str, object]:
    """The JSON of a task for an agent: without the fields that grade it. `files` are paths in the workspace."""
    return {"id": task.id, "input": task.input, "files": list(task.files), "metadata": dict(task.metadata)}


def full_task_fields(task: Task) -> dict[str, object]:
    """The JSON of a task for a verifier: with all fields. `files` are paths in the workspace."""
    return {
        "id": task.id,
        "input": task.input,
        "target": task.target,
        "stratum": task.stratum,
        "files": list(task.files),
        "verifier": task.verifier,
        "metadata": task.all_metadata,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task for an agent's function: `task.id` or `task["id"]`, without the fields that grade the answer.

    `folder` is the workspace, `files` maps relative paths to the files in it.
    """

    id: str
    input: str
    stratum: str
    files: Mapping[str, Path]
    metadata: Mapping[str, object]
    folder: Path

    @classmethod
    def of(cls, task: Task, workspace: Path) -> TaskView:
        """The view of a task whose files are in `workspace`."""
        return TaskView(
            id=task.id,
            input=task.input,
            stratum=task.stratum,
            files={name: workspace / name for name in task.files},
            metadata=task.metadata,
            folder=workspace,
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in GRADING:
            raise AttributeError(f"the task's {name} is not shown to the agent without --show-target")
        raise AttributeError(f"a task has no field `{name}`")

    def __getitem__(self, name: str) -> object:
        if name not in self.keys():
            raise KeyError(name)
        field: object = getattr(self, name)
        return field

    def get(self, name: str, default: object = None) -> object:
        """The field of this name, or the default."""
        return getattr(self, name) if name in self.keys() else default

    def keys(self) -> tuple[str, ...]:
        """The names of the fields, so that `dict(task)` works."""
        return tuple(field.name for field in fields(self))

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())


@dataclass(frozen=True, slots=True, kw_only=True)
class FullTaskView(TaskView):
    """A task for a verifier's function: also the target, the verifier, and all keys of the task's JSON object."""

    target: object
    verifier: str

    @classmethod
    def of(cls, task: Task, workspace: Path) -> FullTaskView:
        """The view of a task whose files are in `workspace`."""
        return FullTaskView(
            id=task.id,
            input=task.input,
            target=task.target,
            stratum=task.stratum,
            files={name: workspace / name for name in task.files},
            verifier=task.verifier,
            metadata=task.all_metadata,
            folder=workspace,
        )


class SkillView:
    """A rendering for an agent's function. The files are written to disk at the first use of `folder`."""

    def __init__(self, rendering: Rendering, workspace: Path, skill_dir: str | None = None) -> None:
        self._rendering = rendering
        self._workspace = workspace
        self._skill_dir = skill_dir
        self._folder: Path | None = None

    @property
    def name(self) -> str:
        """The skill's name."""
        return self._rendering.skill_name

    @property
    def text(self) -> str:
        """SKILL.md (or the one Markdown file) as rendered."""
        return self._rendering.text

    @property
    def files(self) -> Mapping[str, bytes]:
        """Relative path to bytes, SKILL.md included."""
        return {file.path: _read_bytes(file) for file in self._rendering.files}

    @property
    def folder(self) -> Path:
        """The folder on disk with the files of the rendering."""
        if self._folder is None:
            self._folder = place_skill(self._rendering, self._workspace, self._skill_dir)
        return self._folder


def _read_bytes(file: RenderedFile) -> bytes:
    if file.data is not None:
        return file.data
    return file.origin.read_bytes() if file.origin is not None else b""
