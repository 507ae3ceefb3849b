"""Agents of a benchmark that are a function of the skill and the task: references, no-ops, followers of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Outcome, Usage
from skillsv.model.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """Answers with `answer(text of the skill, task)`; the text is empty for the bare agent.

    `fingerprint` is its name and version: raise the version when the function changes. `reads` says whether it looks
    at the skill.
    """

    fingerprint: str
    answer: Callable[[str, Task], str]
    reads: bool = False

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task."""
        del replicate, workspace
        text = skill.text if skill is not None else ""
        usage = Usage(input_tokens=0, output_tokens=0, usd=0.0)
        return Outcome(answer=self.answer(text, task), usage=usage, opened=self.reads and bool(text))
