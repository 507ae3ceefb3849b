"""What is said to the model: the role, the skill where there is one, the form of the answer; then the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillsv.model.coalition import Rendering

_ROLE = "You are a research mathematician who answers multiple-choice questions."

_FORMAT = """\
## Task format
You get one question about a theorem and its answer choices, each with a label. Exactly one choice is right.
Mind quantifiers, hypotheses, equality cases and how strong each statement is.

## Answer format
Think step by step, then give the label of your choice, and only the label, in answer tags, for example:
<answer>B</answer>"""


def system_message(skill: Rendering | None) -> str:
    """The system prompt; without a skill its section is absent."""
    text = skill.text.strip() if skill is not None else ""
    return "\n\n".join([_ROLE, *([f"## Skill\n{text}"] if text else []), _FORMAT])


def user_message(question: str, choices: Sequence[Mapping[str, str]]) -> str:
    """The question and its choices as the user asks them."""
    lines = "\n".join(f"{choice['label']}. {choice['text']}" for choice in choices)
    return f"## Question\n{question}\n\n## Choices\n{lines}"
