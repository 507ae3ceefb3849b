"""The same agent as a Python function: `answer` for `value`, `choose` for `trigger --ask`."""

from __future__ import annotations

import re


def words(text: str) -> list[str]:
    """The words of more than three letters."""
    return [word for word in re.split(r"[^a-z]+", text.lower()) if len(word) > 3]


def best_line(skill: str, question: str) -> str:
    """The line of the skill that shares most words with the question; the last one of several."""
    best, found = 0, "I do not know."
    for line in skill.splitlines():
        shared = sum(word in line.lower() for word in words(question))
        if line.startswith("- ") and shared >= best and shared > 0:
            best, found = shared, line[2:]
    return found


def answer(skill, task) -> str:
    """One answer; `skill` is None when the agent is to work without it."""
    return "I do not know." if skill is None else best_line(skill.text, task.input)


def choose(skill, task) -> str:
    """Which of the listed skills it would open: those whose description shares a word with the request."""
    del skill
    listed, _, request = task.input.partition("<request>")
    lines = re.findall(r"^- ([\w-]+): (.*)$", listed, re.MULTILINE)
    asked = request.partition("</request>")[0]
    names = [name for name, description in lines if set(words(asked)) & set(words(description))]
    return ", ".join(names) or "none"
