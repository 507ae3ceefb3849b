"""The verifier `inspect`: the score that an agent with a scorer of its own was given, a task of Inspect."""

from __future__ import annotations

from pathlib import Path

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.tasks.verifiers.scoring import Scorer


def own_score(name: str) -> Scorer:
    """Reads the score called `name` (`inspect:match`, or `inspect:match.part`), the first one if there is no name."""

    async def score(_task: Task, outcome: Outcome, _workspace: Path) -> float:
        if not outcome.scores:
            raise VerifierFailure(
                "The agent brought no score of its own; the verifier `inspect` needs --agent inspect:FILE.py@task, "
                "and a scorer that gives numbers."
            )
        chosen = name or next(iter(outcome.scores))
        if chosen not in outcome.scores:
            raise VerifierFailure(f"There is no score `{chosen}`; there are: {', '.join(outcome.scores)}.")
        return outcome.scores[chosen]

    return score
