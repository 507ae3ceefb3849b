"""The prompts of a model agent: the system prompt with the skill, and the task."""

from __future__ import annotations

from skillsv.agents.options import ChatOptions
from skillsv.model.coalition import Rendering
from skillsv.model.frontmatter import read_frontmatter
from skillsv.model.task import Task

VERSION = 1
"""Part of the fingerprint: raise it when any text below changes, or what a tool of `tools.py` does."""

_GREETING = "You are a helpful assistant."
"""The first sentence of every system prompt."""

_WORK = "Work in the current folder with your tools. When you are done, reply with the final answer alone."
"""The instruction to a model that has tools."""


def system_prompt(options: ChatOptions, skill: Rendering | None, skill_path: str | None) -> str:
    """The system prompt. `skill_path` is the folder of the skill in the working folder; None: it is not on disk."""
    parts = [_GREETING if options.tools == "none" else f"{_GREETING} {_WORK}"]
    if skill is not None:
        parts += _full_text(skill, skill_path) if options.deliver == "prompt" else [_announcement(skill)]
    return "\n\n".join(parts)


def _full_text(skill: Rendering, skill_path: str | None) -> list[str]:
    text = skill.text.strip()
    where = [f"Other files of this skill are in {skill_path}."] if skill_path else []
    return ["Use this skill:", text, *where] if text else where


def _announcement(skill: Rendering) -> str:
    """The name and the description of a skill that the model has to open, as coding agents announce skills."""
    return f"Skills that you can open with the tool open_skill, where one fits the task:\n- {metadata_line(skill)}"


def metadata_line(skill: Rendering) -> str:
    """`name: description` from the rendered frontmatter; only the name if there is no description."""
    head = _frontmatter(skill.text)
    name = head.get("name")
    description = head.get("description")
    title = name.strip() if isinstance(name, str) and name.strip() else skill.skill_name
    summary = " ".join(description.split()) if isinstance(description, str) else ""
    return f"{title}: {summary}" if summary else title


def _frontmatter(text: str) -> dict[str, str | None]:
    """Name and description from the frontmatter; None for a value that is missing or not a string."""
    frontmatter = read_frontmatter(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return {"name": frontmatter.name, "description": frontmatter.description}


def task_prompt(task: Task, options: ChatOptions) -> str:
    """The input of the task, with the names of its files if the model has tools to read them."""
    if options.tools == "none" or not task.files:
        return task.input
    return f"{task.input}\n\nFiles in the current folder: {', '.join(sorted(task.files))}"
