"""Makes the Inspect sample of one rollout, and offers the skill of a sample to the solver of an Inspect task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import yaml
from inspect_ai.dataset import Sample
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, skill

from skillsv.errors import SkillError
from skillsv.model.coalition import Rendering
from skillsv.model.frontmatter import MAX_CHARACTERS, yaml_problem
from skillsv.model.task import Task

TOOL = "skill"
"""The name of Inspect's skill tool in a conversation."""

OFFERED = "skillsv_skill_offered"
"""The key in the store of a sample that says that its model had the skill tool, and so could open the skill."""


def make_sample(task: Task, skill: Rendering | None, *, folder: Path | None, workspace: Path, replicate: int) -> Sample:
    """The sample of one rollout.

    Prompt templates find the text of the skill as `{skill}` (empty for the bare agent), tools find it in `folder`. For
    a task from an Inspect dataset, its metadata holds what only Inspect knows (choices, files, setup, messages) under
    the key `inspect`.
    """
    own = dict(cast("Mapping[str, Any]", task.metadata.get("inspect", {})))
    added = {
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
            "target": _to_target(task.target),
            "metadata": metadata | added,
            "files": files or None,
            **own,
        }
    )


def _to_target(target: Any) -> str | list[str]:
    """The target in Inspect's form: a text, or several accepted texts."""
    if target is None:
        return ""
    return [_to_text(value) for value in target] if isinstance(target, list) else _to_text(target)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def skill_tools(state: TaskState) -> list[Tool]:
    """Inspect's skill tool with the rendered skill of this sample; an empty list for the bare agent.

        react(tools=[bash(), *skill_tools(state)])

    The tool copies the skill into the sample's sandbox at its first call. Raises SkillError for a skill whose
    frontmatter Inspect could not parse in bounded time: it does so on the event loop of all samples.
    """
    folder = state.metadata.get("skill_folder")
    if not folder:
        return []
    _require_bounded_frontmatter(Path(folder) / "SKILL.md")
    state.store.set(OFFERED, value=True)
    return [skill([folder])]


def _require_bounded_frontmatter(file: Path) -> None:
    """Check the text that Inspect parses: all between the first two `---`, wherever they are."""
    _, *parts = file.read_text("utf-8", "replace").split("---", 2) if file.is_file() else ("",)
    try:
        problem = yaml_problem(parts[0]) if parts else None
    except yaml.YAMLError:
        return  # Inspect reports it
    if problem or (parts and len(parts[0]) > MAX_CHARACTERS):
        reason = problem or f"longer than {MAX_CHARACTERS} characters"
        raise SkillError(f"Inspect's skill tool cannot be offered: the frontmatter of SKILL.md has {reason}.")


@solver
def skill_from_sample() -> Solver:
    """A solver that adds the skill tool to the tools of the sample. Put it before `generate()`."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        state.tools.extend(skill_tools(state))
        return state

    return solve
