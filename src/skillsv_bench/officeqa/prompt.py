"""The prompts: a system message with role, skill and instructions, and a user message with the question."""

from __future__ import annotations

from collections.abc import Sequence

from skillsv.model.coalition import Rendering

_ROLE = "You answer questions about official bulletins, whose text you can search and read with tools."

_FORMAT = """\
## How to work
Find the evidence with the tools glob, grep and read; they see the documents of this question and nothing else.
Take every figure from the documents, with its period and its unit, before you compute anything.
In each turn, either call a tool or give the final answer: a turn with neither ends the task.

## Answer format
When you have the evidence, give the answer, and only the answer, in answer tags, for example:
<answer>1,234</answer>"""


def system_message(skill: Rendering | None) -> str:
    """Write the system prompt; without a skill it has no section for one."""
    text = skill.text.strip() if skill is not None else ""
    return "\n\n".join([_ROLE, *([f"## Skill\n{text}"] if text else []), _FORMAT])


def user_message(question: str, files: Sequence[str], hints: Sequence[str]) -> str:
    """The question, its documents, and where upstream says they come from."""
    parts = [f"## Question\n{question}", _listed("Documents", files)]
    return "\n\n".join([*parts, *([_listed("Sources", hints)] if hints else [])])


def _listed(title: str, entries: Sequence[str]) -> str:
    return "\n".join([f"## {title}", *(f"- {entry}" for entry in entries)])
