"""One rollout as a sample of Inspect: the task's words, and the rendered skill in its metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from inspect_ai.dataset import Sample

from skillsv.model.coalition import Rendering
from skillsv.model.task import Task


def sample_of(task: Task, skill: Rendering | None, *, folder: Path | None, workspace: Path, replicate: int) -> Sample:
    """The sample. Templates find the skill as `{skill}`, the empty text for the bare agent, and tools in its folder.

    What only Inspect knows of a task that came from its own dataset (choices, files, setup, messages) stands in the
    task's metadata under `inspect`.
    """
    own = dict(task.metadata.get("inspect", {}))
    given = {
        "skill": "" if skill is None else skill.text,
        "skill_name": "" if skill is None else skill.skill_name,
        "skill_folder": "" if folder is None else str(folder),
        "workspace": str(workspace),
        "task_id": task.id,
        "replicate": replicate,
    }
    metadata = {name: value for name, value in task.metadata.items() if name != "inspect"}
    files = {**own.pop("files", {}), **{name: str(workspace / name) for name in task.files}}
    return Sample.model_validate(
        {
            "input": own.pop("messages", task.input),
            "target": _target(task.target),
            "metadata": metadata | given,
            "files": files or None,
            **own,
        }
    )


def _target(target: Any) -> str | list[str]:
    """A target as Inspect has it: text, or several accepted texts."""
    if target is None:
        return ""
    return [_text(value) for value in target] if isinstance(target, list) else _text(target)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
