"""Says whether an episode was won: what the environment told the protocol, which is the only one that plays."""

from __future__ import annotations

from pathlib import Path

import msgspec

from skillsv.benchmarks.alfworld.paper import STEPS
from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task

RULES = "alfworld/1"


class Result(msgspec.Struct, frozen=True):
    """How an episode ended, as the answer of its rollout: the environment's word, never the speaker's."""

    won: bool
    steps: int
    actions: tuple[str, ...] = ()

    def as_answer(self) -> str:
        """The result as text."""
        return msgspec.json.encode(self).decode()


def read_result(answer: str) -> Result:
    """The result that an answer carries. Raises ValueError where it carries none."""
    try:
        return msgspec.json.decode(answer, type=Result)
    except msgspec.MsgspecError as trouble:
        raise ValueError(str(trouble)) from trouble


def passed(result: Result) -> bool:
    """Won within the steps of an episode."""
    return result.won and 0 <= result.steps <= STEPS


class WonVerifier:
    """Scores 1 for an episode that was won within 50 steps, else 0."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of one episode."""
        del workspace
        try:
            return float(passed(read_result(outcome.answer)))
        except ValueError as trouble:
            raise VerifierFailure(f"the answer to {task.id} is no result of an episode: {trouble}.") from trouble
