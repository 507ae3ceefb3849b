"""Check a benchmark without a model: the reference agent should pass every task, the no-op agent none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from skillsv.errors import Unavailable
from skillsv.extend.task_sources import Job, LocalEngine
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.events import RolloutFinished, RunFinished, RunStarted
from skillsv.model.protocols import Agent, Listener
from skillsv.model.rollout import Rollout, RolloutKey
from skillsv.model.task import Task
from skillsv_bench.benchmark import Benchmark, LoadedTasks

PASS = 1.0
"""The lowest score that counts as a pass."""

NO_SKILL = Rendering(
    coalition=frozenset(), operator=Operator.DELETE, skill_name="", main="SKILL.md", files=(), digest="none"
)
"""The rendering of the bare agent, which has no skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The ids of the tasks that one agent passed, and of those that it failed."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]

    def table(self) -> Mapping[str, Any]:
        """The counts, and the names of the tasks behind them."""
        of = len(self.passed) + len(self.failed)
        return {"passed": len(self.passed), "of": of, "failed": list(self.failed), "passed_ids": list(self.passed)}


async def check(
    benchmark: Benchmark, loaded: LoadedTasks, *, jobs: int, listener: Listener
) -> Mapping[str, CheckResult]:
    """Score every task with the reference agent and with the no-op agent."""
    names = ("reference", "noop")
    listener(RunStarted(run=benchmark.name, chains=0, expected_rollouts=len(names) * len(loaded.tasks)))
    results = {}
    for name in names:
        rollouts = await _score_tasks(benchmark, benchmark.builtin_agents[name](), loaded.tasks, jobs, listener)
        _refuse_failures(name, rollouts)
        passed = tuple(rollout.task_id for rollout in rollouts if (rollout.score or 0.0) >= PASS)
        failed = tuple(rollout.task_id for rollout in rollouts if (rollout.score or 0.0) < PASS)
        results[name] = CheckResult(passed=passed, failed=failed)
    listener(RunFinished(reason="done"))
    return results


async def _score_tasks(
    benchmark: Benchmark, agent: Agent, tasks: Sequence[Task], jobs: int, listener: Listener
) -> list[Rollout]:
    """One rollout per task, in the order of the tasks, `jobs` at once."""
    rollouts: dict[str, Rollout] = {}
    limiter = anyio.CapacityLimiter(jobs)

    async def score_task(engine: LocalEngine, task: Task) -> None:
        key = RolloutKey(tree=NO_SKILL.digest, task=task.digest, agent=agent.fingerprint)
        async with limiter:
            rollout = await engine.run(Job(key=key, skill=NO_SKILL, task=task))
        rollouts[task.id] = rollout
        listener(_make_event(rollout))

    async with LocalEngine(agent, benchmark.verifier()) as engine, anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(score_task, engine, task)
    return [rollouts[task.id] for task in tasks]


def _make_event(rollout: Rollout) -> RolloutFinished:
    return RolloutFinished(
        task=rollout.task_id,
        tree=rollout.key.tree,
        why="check",
        score=rollout.score,
        reused=False,
        usage=rollout.usage,
        duration=rollout.duration,
        failure=None if rollout.failure is None else rollout.failure.kind,
    )


def _refuse_failures(name: str, rollouts: Sequence[Rollout]) -> None:
    """Raise Unavailable if a task could not be scored: it is neither passed nor failed."""
    failed = [rollout for rollout in rollouts if rollout.failure is not None]
    if failed:
        first = failed[0]
        assert first.failure is not None
        raise Unavailable(
            f"{len(failed)} of {len(rollouts)} tasks could not be scored with the {name} agent, first "
            f"{first.task_id}: {first.failure.message}"
        )
