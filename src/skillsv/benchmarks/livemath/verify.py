"""Which choice an answer names, and whether it is the right one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillsv.model.rollout import Outcome
from skillsv.model.task import Task

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)


def said(text: str) -> str:
    """What stands in the last answer tags, else the last line that is not empty."""
    tagged = _ANSWER.findall(text)
    if tagged:
        return str(tagged[-1]).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def as_label(text: str) -> str:
    """A text written as labels are: capitals, nothing trailing."""
    return text.strip().upper().rstrip(".):")


def chosen(text: str, choices: Sequence[Mapping[str, str]]) -> str | None:
    """The label that an answer names: by itself, by a choice's whole text, or by its first word."""
    answer = said(text)
    labels = {as_label(choice["label"]) for choice in choices}
    if as_label(answer) in labels:
        return as_label(answer)
    for choice in choices:
        if choice["text"].strip().lower() == answer.lower():
            return as_label(choice["label"])
    first = as_label(answer.split()[0]) if answer else ""
    return first if first in labels else None


class LabelVerifier:
    """1 for the right choice, 0 for any other answer."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of this outcome."""
        del workspace
        return float(chosen(outcome.answer, task.metadata["choices"]) == task.target)
