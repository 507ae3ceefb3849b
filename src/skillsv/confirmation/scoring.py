"""The scores on panel B: every version of a skill on every task. Nothing else reads the tasks of panel B."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillsv.errors import TaskError, Unavailable
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.task import PanelB

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelScores:
    """Scores on panel B: a row per version, a column per task, means over replicates; NaN where one is missing."""

    tasks: tuple[str, ...]
    versions: tuple[Coalition, ...]
    scores: Floats

    def of(self, version: Coalition) -> Floats:
        """The scores of one version, task by task."""
        row: Floats = self.scores[self.versions.index(version)]
        return row

    def rows(self, versions: Sequence[Coalition]) -> Floats:
        """The scores of some versions, a row each."""
        return np.stack([self.of(version) for version in versions])

    def paired(self) -> PanelScores:
        """Only the tasks that every version has a score for, so that all comparisons use the same tasks."""
        complete: npt.NDArray[np.bool_] = ~np.any(np.isnan(self.scores), axis=0)
        if not complete.any():
            raise Unavailable(
                "no task of panel B has a score for every version.",
                hint="Repair the agent or the verifier and run the same command again: it resumes.",
            )
        tasks = tuple(task for task, known in zip(self.tasks, complete.tolist(), strict=True) if known)
        return PanelScores(tasks=tasks, versions=self.versions, scores=self.scores[:, complete])


def score_on_panel(
    panel: PanelB, versions: Sequence[Coalition], *, replicates: int = 1
) -> Generator[tuple[Request, ...], RequestScores, PanelScores]:
    """The policy that scores every version on the whole of panel B, `replicates` times each."""
    if not panel.tasks:
        raise TaskError("panel B is empty.", hint="Value the skill with --panel-b, or name new tasks with --tasks.")
    distinct = tuple(dict.fromkeys(versions))
    tasks = tuple(task.id for task in panel.tasks)
    answers = yield tuple(
        _request(version, task, replicate) for version in distinct for task in tasks for replicate in range(replicates)
    )
    scores = np.array(
        [
            [_mean([answers[_request(version, task, replicate)] for replicate in range(replicates)]) for task in tasks]
            for version in distinct
        ]
    )
    return PanelScores(tasks=tasks, versions=distinct, scores=scores)


def _request(version: Coalition, task: str, replicate: int) -> Request:
    return Request(coalition=version, operator=Operator.DELETE, task=task, replicate=replicate, why="confirm")


def _mean(scores: Sequence[float | None]) -> float:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else float("nan")
