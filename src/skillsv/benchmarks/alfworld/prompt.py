"""What is said to the player each turn, in one message: the skill first, then the task and where the game stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillsv.benchmarks.alfworld.scene import NOTHING, Scene
from skillsv.model.coalition import Rendering

REMEMBERED = 2
"""How many (observation, action) pairs of the past are shown."""

_ROLE = "You act in a household that is described in words. Each turn you choose one action."

_FORMAT = """\
Think about the next step between <think> and </think>. Then give exactly one of the admissible actions, word for word,
between <action> and </action>."""

_THOUGHT = re.compile(r"<think>.*?</think>", re.IGNORECASE | re.DOTALL)
_ACTION = re.compile(r"<action>(.*?)</action>", re.IGNORECASE | re.DOTALL)

Past = Sequence[tuple[str, str]]
"""Pairs of what was observed and what was done then, oldest first."""


def user_message(skill: Rendering | None, goal: str, past: Past, scene: Scene) -> str:
    """All that the player is told in one turn; without a skill its section is absent."""
    text = skill.text.strip() if skill is not None else ""
    parts = [
        *([f"## Skill\n{text}"] if text else []),
        f"{_ROLE}\n\n## Task\n{goal}",
        *_recalled(past[-REMEMBERED:]),
        f"## Observation\n{scene.observation.strip()}",
        "## Admissible actions\n" + "\n".join(f"- {action}" for action in scene.actions),
        _FORMAT,
    ]
    return "\n\n".join(parts)


def _recalled(past: Past) -> list[str]:
    if not past:
        return []
    pairs = [f"Observation: {observation.strip()}\nAction: {action}" for observation, action in past]
    return ["\n\n".join(["## Before this", *pairs])]


def read_action(reply: str) -> str:
    """The action that a reply gives, the first one after its thoughts; `look` where it gives none."""
    found = _ACTION.search(_THOUGHT.sub("", reply)) or _ACTION.search(reply)
    action = " ".join(found[1].split()).lower() if found else ""
    return action or NOTHING
