"""Is a benchmark sound on this machine? Its reference agent should pass every task, its no-op agent none. No model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from skillsv.errors import Unavailable
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.events import RolloutFinished, RunFinished, RunStarted
from skillsv.model.protocols import Agent, Listener
from skillsv.model.rollout import Rollout, RolloutKey
from skillsv.model.task import Task
from skillsv.rollout import LocalEngine
from skillsv.rollout.engine import Job
from skillsv_bench.benchmark import Benchmark, Loaded

PASS = 1.0
NO_SKILL = Rendering(
    coalition=frozenset(), operator=Operator.DELETE, skill_name="", main="SKILL.md", files=(), digest="none"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """How one agent did, task by task."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]

    def table(self) -> Mapping[str, Any]:
        """The counts, and the names of the tasks behind them."""
        of = len(self.passed) + len(self.failed)
        return {"passed": len(self.passed), "of": of, "failed": list(self.failed), "passed_ids": list(self.passed)}


async def check(benchmark: Benchmark, loaded: Loaded, *, jobs: int, listener: Listener) -> Mapping[str, CheckResult]:
    """Score every task with the reference agent and with the no-op agent."""
    names = ("reference", "noop")
    listener(RunStarted(run=benchmark.name, chains=0, expected_rollouts=len(names) * len(loaded.tasks)))
    found = {}
    for name in names:
        rollouts = await _scored(benchmark, benchmark.known[name](), loaded.tasks, jobs, listener)
        _refuse_trouble(name, rollouts)
        passed = tuple(rollout.task_id for rollout in rollouts if (rollout.score or 0.0) >= PASS)
        failed = tuple(rollout.task_id for rollout in rollouts if (rollout.score or 0.0) < PASS)
        found[name] = CheckResult(passed=passed, failed=failed)
    listener(RunFinished(reason="done"))
    return found


async def _scored(
    benchmark: Benchmark, agent: Agent, tasks: Sequence[Task], jobs: int, listener: Listener
) -> list[Rollout]:
    """One rollout per task, in the order of the tasks, `jobs` at once."""
    found: dict[str, Rollout] = {}
    room = anyio.CapacityLimiter(jobs)

    async def one(engine: LocalEngine, task: Task) -> None:
        key = RolloutKey(tree=NO_SKILL.digest, task=task.digest, agent=agent.fingerprint)
        async with room:
            rollout = await engine.run(Job(key=key, skill=NO_SKILL, task=task))
        found[task.id] = rollout
        listener(_finished(rollout))

    async with LocalEngine(agent, benchmark.verifier()) as engine, anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(one, engine, task)
    return [found[task.id] for task in tasks]


def _finished(rollout: Rollout) -> RolloutFinished:
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


def _refuse_trouble(name: str, rollouts: Sequence[Rollout]) -> None:
    """A task that could not be scored is neither passed nor failed."""
    troubled = [rollout for rollout in rollouts if rollout.failure is not None]
    if troubled:
        first = troubled[0]
        assert first.failure is not None
        raise Unavailable(
            f"{len(troubled)} of {len(rollouts)} tasks could not be scored with the {name} agent, first "
            f"{first.task_id}: {first.failure.message}"
        )
