"""The agent of programs that have one function for everything: it evaluates a text on an example."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from skillsv.agents.fingerprints import AgentInputs
from skillsv.agents.options import AgentOptions
from skillsv.agents.python import call_as_agent
from skillsv.errors import AgentFailure
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import FailureKind, Outcome
from skillsv.model.task import Task
from skillsv.sandbox.captured_prints import capture_prints
from skillsv.sandbox.user_function import GivenFunction


class EvaluateAgent:
    """Calls `evaluate(text, example)`, which runs the agent and scores its answer, and keeps the score in the outcome.

    `text` is the main file of the partial skill, empty for the bare agent. `examples` are the caller's objects by the
    id of the task that stands for each; `score_name` is the name of the score in the outcome.
    """

    def __init__(
        self, function: GivenFunction, examples: Mapping[str, object], score_name: str, options: AgentOptions
    ) -> None:
        self._user = function
        self._examples = examples
        self._score_name = score_name
        self._options = options
        self._inputs = AgentInputs(options)
        self._fingerprint = self._inputs.extend(f"evaluate/1:{function.digest}")

    @property
    def fingerprint(self) -> str:
        """Covers the function as far as its digest does (see `GivenFunction`), and forwarded values."""
        return self._fingerprint

    def find_change(self) -> Path | None:
        """A covered file that has changed since the fingerprint was made."""
        return self._inputs.find_change()

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Evaluate the text once."""
        del workspace
        text = "" if skill is None else skill.text
        with capture_prints(f"task {task.id}, replicate {replicate}") as printed:
            value = await call_as_agent(self._user, (text, self._examples[task.id]), self._options.timeout)
        try:
            score = math.nan if isinstance(value, str) else float(value)
        except (TypeError, ValueError, OverflowError):
            score = math.nan
        if math.isnan(score):
            raise AgentFailure(
                f"{self._user.name} returned {type(value).__name__} instead of a score from 0 to 1.",
                kind=FailureKind.BAD_OUTPUT,
            )
        return Outcome(answer=f"{score:g}", scores={self._score_name: score}, transcript="".join(printed) or None)
