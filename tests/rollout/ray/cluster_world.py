"""Factories that the workers of a test cluster import, with agents that log what they do."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

from worlds import ToyAgent, ToyVerifier, plan, render, tasks, units

from skillsv.agents import AgentOptions, make_agent
from skillsv.errors import SettingsError
from skillsv.model.rollout import Outcome
from skillsv.rollout import Ledger, LocalEngine, Runner, RunnerOptions, chain_policy
from skillsv.rollout.ray.cluster_options import AgentFactory

N = 8
B = 4


class LoggingAgent(ToyAgent):
    """Plays the toy game and logs every start and end with its process; appended lines survive a kill.

    Every entry begins on a line of its own: SIGKILL can cut a write at the boundary of two pages.
    """

    def __init__(self, log: Path, seconds: float) -> None:
        super().__init__(seconds=seconds)
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def run(self, skill, task, replicate, workspace):
        key = f"{'bare' if skill is None else skill.digest} {task.digest}"
        os.write(self._log, f"\nbegin {os.getpid()} {time.monotonic()} {key}".encode())
        outcome = await super().run(skill, task, replicate, workspace)
        os.write(self._log, f"\nend {os.getpid()} {time.monotonic()} {key}".encode())
        return outcome


class SelfKillingAgent(LoggingAgent):
    """Kills its own process on the first task, while other rollouts run there."""

    async def run(self, skill, task, replicate, workspace):
        if task.id == "t0":
            self.seconds = 0.4
        outcome = await super().run(skill, task, replicate, workspace)
        if task.id == "t0":
            os.kill(os.getpid(), signal.SIGKILL)
        return outcome


class ReportingAgent:
    """Answers with the forwarded variables and the files of the task and of the skill, and prints a variable."""

    fingerprint = "reporting/1"

    async def run(self, skill, task, replicate, workspace):
        seen = {
            "key": os.environ.get("TOY_KEY"),
            "other": os.environ.get("TOY_OTHER"),
            "files": {name: (workspace / name).read_text() for name in task.files},
            "run": {name: os.access(workspace / name, os.X_OK) for name in task.files},
            "skill": {} if skill is None else {name: len(data) for name, data in skill.contents.items()},
        }
        print(f"TOY_KEY is {os.environ.get('TOY_KEY')}", flush=True)  # noqa: T201
        return Outcome(answer=json.dumps(seen, sort_keys=True))


class AlwaysOne:
    async def score(self, task, outcome, workspace):
        return 1.0


def logging(log: Path, seconds: float):
    return LoggingAgent(log, seconds), ToyVerifier()


def self_killing(log: Path):
    return SelfKillingAgent(log, 1.5), ToyVerifier()


def reporting():
    return ReportingAgent(), AlwaysOne()


def shell(command: str, folder: Path):
    return make_agent(f"command:{command}", AgentOptions(folder=folder)), AlwaysOne()


def failing_factory():
    raise SettingsError("the key TOY_KEY is not set.", hint="Set it.")


def logging_factory(log: Path, seconds: float = 0.0) -> AgentFactory:
    return partial(logging, log, seconds)


@dataclass(frozen=True)
class Line:
    what: str
    process: int
    at: float
    key: str


def log_lines(log: Path) -> list[Line]:
    if not log.exists():
        return []
    rows = (line.split(maxsplit=3) for line in log.read_text().splitlines())
    return [Line(row[0], int(row[1]), float(row[2]), row[3]) for row in rows if len(row) == len(fields(Line))]


def started(log: Path) -> Counter:
    return Counter(line.key for line in log_lines(log) if line.what == "begin")


def chain_policies(chains: int):
    return [chain_policy(plan(N, B, index=index, rotate=index, tolerance=0.05), "m") for index in range(chains)]


def runner_on(engine, ledger: Ledger, *, jobs: int, on_event=lambda event: None, attempts: int = 5) -> Runner:
    everything = frozenset(units(N))
    return Runner(
        engine,
        ledger,
        lambda coalition, operator: render(coalition, operator, everything),
        tasks(B),
        ToyAgent.fingerprint,
        RunnerOptions(jobs=jobs, backoff=0.05, attempts=attempts),
        on_event,
    )


async def run_chains(engine, path: Path, *, chains: int, jobs: int, on_event=lambda event: None):
    """Run the chains with a ledger at `path`; returns their records."""
    with Ledger.open(path) as ledger:
        async with engine:
            return await runner_on(engine, ledger, jobs=jobs, on_event=on_event).run_policies(chain_policies(chains))


async def run_locally(path: Path, *, chains: int):
    return await run_chains(LocalEngine(ToyAgent(), ToyVerifier()), path, chains=chains, jobs=4)
