"""The second metric of a benchmark, computed from the rollouts that were scored. It is reported and decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread
import numpy as np

from skillsv.extend.comparison import interval
from skillsv.extend.runs import Ledger
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Outcome, RolloutKey
from skillsv.model.task import Task
from skillsv.model.value import Interval

STREAM = 17
"""Random stream of the intervals of second metrics."""

LABEL = "[second metric]"
"""The line of a transcript above the amount that was measured when the rollout ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMetric:
    """A metric beside the score, in [0, 1]: from the stored answer, or measured in the workspace of the rollout.

    Exactly one function is given. `of_answer(task, answer)` reads what the ledger keeps. `in_workspace(task, folder)`
    is called when a rollout ends, because the ledger does not keep files; its result ends the rollout's transcript.
    """

    name: str
    title: str
    of_answer: Callable[[Task, str], float] | None = None
    in_workspace: Callable[[Task, Path], float] | None = None

    def wrap(self, agent: Agent) -> Agent:
        """Return the agent with the measurement after each rollout, where the metric needs the workspace."""
        return agent if self.in_workspace is None else MeasuringAgent(agent, self.in_workspace)

    def read(self, task: Task, answer: str, transcript: str | None) -> float | None:
        """The metric of a stored rollout; None where it was not measured."""
        return self.of_answer(task, answer) if self.of_answer is not None else read_transcript(transcript)


class MeasuringAgent:
    """Runs another agent, then measures the workspace. Key and score of the rollout stay the same."""

    def __init__(self, agent: Agent, measure: Callable[[Task, Path], float]) -> None:
        self.agent = agent
        self._measure = measure

    @property
    def fingerprint(self) -> str:
        """The other agent's fingerprint: its answers do not change."""
        return self.agent.fingerprint

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task, and write the measurement at the end of the transcript."""
        outcome = await self.agent.run(skill, task, replicate, workspace)
        amount = await anyio.to_thread.run_sync(self._measure, task, workspace)
        return replace(outcome, transcript=f"{outcome.transcript or ''}\n\n{LABEL}\n{amount!r}".lstrip("\n"))


def read_transcript(transcript: str | None) -> float | None:
    """The measurement at the end of a transcript; None where there is none."""
    lines = (transcript or "").splitlines()
    if len(lines) < 2 or lines[-2] != LABEL:
        return None
    try:
        return float(lines[-1])
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondScore:
    """One version on one panel: the second metric and the score, on the tasks where the second metric is known."""

    panel: str
    version: str
    second: Interval
    score: float
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReader:
    """Reads the second metric of versions of a skill from a ledger."""

    metric: SecondMetric
    ledger: Ledger
    agent: str
    level: float
    seed: int

    def read_panel(
        self, panel: str, tasks: Sequence[Task], versions: Mapping[str, Rendering], *, replicates: int
    ) -> tuple[SecondScore, ...]:
        """One row per version that has a known task. Rows with the same known tasks share bootstrap samples."""
        rows = []
        for version, rendering in versions.items():
            known = [pair for task in tasks if (pair := self._of_task(task, rendering, replicates)) is not None]
            if known:
                seconds, scores = np.array(known).T
                rng = np.random.default_rng([self.seed, STREAM])
                second = interval(seconds, self.level, rng)
                score = float(scores.mean())
                rows.append(SecondScore(panel=panel, version=version, second=second, score=score, tasks=len(known)))
        return tuple(rows)

    def _of_task(self, task: Task, rendering: Rendering, replicates: int) -> tuple[float, float] | None:
        """The second metric and the score of one task, means over replicates; None where the metric is unknown."""
        keys = [
            RolloutKey(tree=rendering.digest, task=task.digest, agent=self.agent, replicate=replicate)
            for replicate in range(replicates)
        ]
        pairs = []
        for key, rollout in self.ledger.lookup(keys).items():
            detail = self.ledger.detail(key)
            answer, transcript = ("", None) if detail is None else (detail.answer, detail.transcript)
            amount = self.metric.read(task, answer, transcript)
            if amount is not None and rollout.score is not None:
                pairs.append((amount, rollout.score))
        if not pairs:
            return None
        amounts, scores = zip(*pairs, strict=True)
        return float(np.mean(amounts)), float(np.mean(scores))
