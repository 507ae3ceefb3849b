"""One rollout as a sample of Inspect: the task's words, and the rendered skill in its metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from inspect_ai.dataset import Sample
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, skill

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


# What a task of Inspect uses to hand the rendered skill to its model: the skill tool, absent for the bare agent.

TOOL = "skill"
"""The name under which Inspect's tool appears in a conversation."""

OFFERED = "skillsv_skill_offered"
"""Set in the store of a sample whose model was offered the tool, so that a skill left unopened is seen as one."""


def skill_tools(state: TaskState) -> list[Tool]:
    """Inspect's skill tool with the rendered skill of this sample; nothing where there is no skill.

        react(tools=[bash(), *skill_tools(state)])

    The tool copies the skill into the sample's sandbox when it is first called.
    """
    folder = state.metadata.get("skill_folder")
    if not folder:
        return []
    state.store.set(OFFERED, value=True)
    return [skill([folder])]


@solver
def skill_from_sample() -> Solver:
    """A solver that offers the rendered skill as a tool, beside those already there. It goes before `generate()`."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        state.tools.extend(skill_tools(state))
        return state

    return solve
