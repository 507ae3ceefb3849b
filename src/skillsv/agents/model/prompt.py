"""What the model is told: the system prompt with the skill delivered, and the task."""

from __future__ import annotations

from typing import Any

import yaml

from skillsv.agents.options import ChatOptions
from skillsv.model.coalition import Rendering
from skillsv.model.task import Task

VERSION = 1
"""Part of the fingerprint: raise it whenever a word below changes."""

_GREETING = "You are a helpful assistant."
_WORK = "Work in the current folder with your tools. When you are done, reply with the final answer alone."
_LONGEST_HEAD = 65536


def system_prompt(options: ChatOptions, skill: Rendering | None, place: str | None) -> str:
    """The system prompt. `place` is where the skill lies in the working folder, None where it does not."""
    parts = [_GREETING if options.tools == "none" else f"{_GREETING} {_WORK}"]
    if skill is not None:
        parts += _in_prompt(skill, place) if options.deliver == "prompt" else [_advertised(skill)]
    return "\n\n".join(parts)


def _in_prompt(skill: Rendering, place: str | None) -> list[str]:
    text = skill.text.strip()
    where = [f"Other files of this skill are in {place}."] if place else []
    return ["Use this skill:", text, *where] if text else where


def _advertised(skill: Rendering) -> str:
    """The skill as a coding agent announces it: its name and description, and no more until it is opened."""
    return f"Skills that you can open with the tool open_skill, where one fits the task:\n- {metadata_line(skill)}"


def metadata_line(skill: Rendering) -> str:
    """`name: description` from the frontmatter as rendered; the name alone where there is none."""
    head = _frontmatter(skill.text)
    name = head.get("name")
    description = head.get("description")
    words = " ".join(description.split()) if isinstance(description, str) else ""
    shown = name.strip() if isinstance(name, str) and name.strip() else skill.skill_name
    return f"{shown}: {words}" if words else shown


def _frontmatter(text: str) -> dict[str, Any]:
    """The fields between the first two lines `---`; nothing where they cannot be read."""
    lines = text[:_LONGEST_HEAD].splitlines()
    if not lines or lines[0].strip() != "---":
        return {}
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() in {"---", "..."}), None)
    if end is None:
        return {}
    try:
        found = yaml.safe_load("\n".join(lines[1:end]))
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def task_prompt(task: Task, options: ChatOptions) -> str:
    """The task as the user would put it, with the names of its files where there are tools to read them."""
    if options.tools == "none" or not task.files:
        return task.input
    return f"{task.input}\n\nFiles in the current folder: {', '.join(sorted(task.files))}"
