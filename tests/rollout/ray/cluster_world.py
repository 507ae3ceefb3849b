"""What runs on the nodes of a test's cluster: recipes that workers import, with agents that write down what they do."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from worlds import ToyAgent, ToyVerifier, plan, render, tasks, units

from skillsv.agents import AgentOptions, make_agent
from skillsv.errors import SettingsError
from skillsv.model.rollout import Outcome
from skillsv.rollout import Ledger, LocalEngine, Runner, RunnerOptions, chain_policy
from skillsv.rollout.ray.cluster_options import Recipe

N, B = 8, 4


class LoggingAgent(ToyAgent):
    """Plays the toy game and writes down every beginning and end with its process; appended lines survive a kill."""

    def __init__(self, log: Path, seconds: float) -> None:
        super().__init__(seconds=seconds)
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def run(self, skill, task, replicate, workspace):
        key = f"{'bare' if skill is None else skill.digest} {task.digest}"
        os.write(self._log, f"begin {os.getpid()} {time.monotonic()} {key}\n".encode())
        outcome = await super().run(skill, task, replicate, workspace)
        os.write(self._log, f"end {os.getpid()} {time.monotonic()} {key}\n".encode())
        return outcome


class PoisonedAgent(LoggingAgent):
    """Kills its own process on the first task, while its neighbours are at work."""

    async def run(self, skill, task, replicate, workspace):
        if task.id == "t0":
            self.seconds = 0.4
        outcome = await super().run(skill, task, replicate, workspace)
        if task.id == "t0":
            os.kill(os.getpid(), signal.SIGKILL)
        return outcome


class TellingAgent:
    """Answers with what it sees: forwarded variables, the files of the task and of the skill. It also prints them."""

    fingerprint = "telling/1"

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


class Content:
    async def score(self, task, outcome, workspace):
        return 1.0


def logging(log: Path, seconds: float):
    return LoggingAgent(log, seconds), ToyVerifier()


def poisoned(log: Path):
    return PoisonedAgent(log, 1.5), ToyVerifier()


def telling():
    return TellingAgent(), Content()


def shell(command: str, folder: Path):
    return make_agent(f"command:{command}", AgentOptions(folder=folder)), Content()


def unmade():
    raise SettingsError("the key TOY_KEY is not set.", hint="Set it.")


def logging_recipe(log: Path, seconds: float = 0.0) -> Recipe:
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
    return [Line(what, int(process), float(at), key) for what, process, at, key in rows]


def begun(log: Path) -> Counter:
    return Counter(line.key for line in log_lines(log) if line.what == "begin")


def walks(chains: int):
    return [chain_policy(plan(N, B, index=index, rotate=index, tolerance=0.05), "m") for index in range(chains)]


def runner_on(engine, ledger: Ledger, *, jobs: int, hear=lambda event: None, attempts: int = 5) -> Runner:
    everything = frozenset(units(N))
    return Runner(
        engine,
        ledger,
        lambda coalition, operator: render(coalition, operator, everything),
        tasks(B),
        ToyAgent.fingerprint,
        RunnerOptions(jobs=jobs, backoff=0.05, attempts=attempts),
        hear,
    )


async def run_chains(engine, path: Path, *, chains: int, jobs: int, hear=lambda event: None):
    """The records of all chains, in a ledger of their own."""
    with Ledger.open(path) as ledger:
        async with engine:
            return await runner_on(engine, ledger, jobs=jobs, hear=hear).run_policies(walks(chains))


async def run_here(path: Path, *, chains: int):
    return await run_chains(LocalEngine(ToyAgent(), ToyVerifier()), path, chains=chains, jobs=4)
