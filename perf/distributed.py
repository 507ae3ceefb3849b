"""What a cluster costs and gives: driver CPU, three nodes against one, the driver's limit, a simulated thousand slots.

`python -m perf distributed`. The first part starts three raylets on this machine (extra `ray`); the rest needs none.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import selectors
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import anyio

from perf.rollout import Compare, InstantAgent, chains, render
from perf.rollout import run as run_locally
from skillsv.model.coalition import Operator
from skillsv.model.rollout import Request, Rollout
from skillsv.model.task import Task
from skillsv.pipeline import ValuationJob, prepare, run_rollouts, session
from skillsv.rollout import Ledger, RunFolder, Runner, RunnerOptions, Stop
from skillsv.settings import Settings

PLACE = Path(__file__).resolve().parents[1]
EXAMPLE = PLACE / "examples" / "support-desk"
TASKS = 8
"""Tasks of the measured panel."""


def recipe(seconds: float):
    """Made on each node."""
    return InstantAgent(seconds), Compare()


def at_once(count: int):
    """A policy that wants so many rollouts and waits for all: what is measured then is the engine, not the policy."""
    yield tuple(
        Request(coalition=frozenset({f"u{number}"}), operator=Operator.DELETE, task=f"t{number % TASKS}")
        for number in range(count)
    )


async def through(engine, folder: Path, policies, *, slots: int):
    """Rollouts, driver CPU seconds and wall seconds of policies on an engine that has so many slots ready."""
    panel = {f"t{task}": Task(id=f"t{task}", input="", digest=f"d{task}") for task in range(TASKS)}
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        async with engine:
            while (engine.slots or 0) < slots:  # noqa: ASYNC110 - nodes join one by one
                await anyio.sleep(0.05)
            options = RunnerOptions(jobs=slots)
            runner = Runner(engine, ledger, render, panel, InstantAgent.fingerprint, options, lambda _event: None)
            cpu, wall = time.process_time(), time.perf_counter()
            await runner.run_policies(policies)
            return runner.spending.spent, time.process_time() - cpu, time.perf_counter() - wall


def on_a_cluster(folder: Path, *, quick: bool) -> list[tuple[str, float, str]]:
    """Figures of three raylets on this machine."""
    path = os.pathsep.join((str(PLACE), str(PLACE / "src")))
    os.environ |= {"PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    from ray.cluster_utils import Cluster

    from skillsv.rollout.ray.cluster_options import ClusterOptions
    from skillsv.rollout.ray.engine import RayEngine

    began = time.perf_counter()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 8, "include_dashboard": False})

    def measured(name: str, seconds: float, policies, *, nodes: int):
        options = ClusterOptions(address=cluster.address, slots_per_node=8)
        engine = RayEngine(partial(recipe, seconds), InstantAgent.fingerprint, options)
        return anyio.run(partial(through, engine, folder / name, policies, slots=8 * nodes))

    nap, count = 1.0, 48 if quick else 480
    try:
        spent, cpu, wall = measured("instant", 0.0, chains(2 if quick else 8, 30, TASKS), nodes=1)
        one, _, alone = measured("one", nap, [at_once(count)], nodes=1)
        for _ in range(2):
            cluster.add_node(num_cpus=8)
        start = time.perf_counter() - began - wall - alone
        three, _, together = measured("three", nap, [at_once(count)], nodes=3)
    finally:
        cluster.shutdown()
    assert one == three
    what = f"time of {three:,} rollouts of {nap} s on three nodes"
    return [
        (
            f"own driver CPU per rollout, {spent:,} instant rollouts through Ray, policy and ledger",
            cpu / spent / 3e-3,
            "of 3 ms",
        ),
        ("instant rollouts through Ray, policy and ledger", spent / wall, "a second (all on this machine)"),
        (what, together / alone * 2.7, "of 1/2.7 of one node's time"),
        (what, together / (three * nap / 24), "of its ideal time"),
        ("time to start three raylets, and two engines", start, "seconds"),
    ]


def one_driver(folder: Path, *, quick: bool) -> list[tuple[str, float, str]]:
    """What policy, dispatcher and ledger let through when rollouts cost nothing."""
    spending, cpu, wall = run_locally(folder, InstantAgent(), count=2 if quick else 15, n=50, b=TASKS, jobs=1000)
    return [
        (
            f"{spending.spent:,} instant rollouts through policy and ledger, 1,000 at once",
            spending.spent / wall,
            "a second",
        ),
        ("the same by its CPU alone", spending.spent / cpu, "a second"),
    ]


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next thing that is due, unless a thread is at work (`busy`)."""

    def __init__(self, busy: Callable[[], bool]) -> None:
        self._now = 0.0
        super().__init__(_Jumping(self, busy))

    def time(self) -> float:
        """Virtual seconds."""
        return self._now


class _Jumping(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop, busy: Callable[[], bool]) -> None:
        super().__init__()
        self._loop, self._busy = loop, busy

    def select(self, timeout: float | None = None):
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None or self._busy():
            return super().select(0.0005 if timeout is not None else None)
        self._loop._now += timeout  # noqa: SLF001 - its own clock
        return []


@dataclass
class AtWork:
    """Counts what threads are doing; while they do, the clock stands still."""

    count: int = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *_error: object) -> None:
        self.count -= 1


@dataclass
class Stub:
    """An engine of `slots` machines with lognormal times; each rollout first holds the driver for `driver` seconds."""

    slots: int
    median: float
    driver: float
    agent: object
    verifier: object
    threads: AtWork
    spread: float = 0.6
    used: float = 0.0
    rollouts: int = 0
    running: int = 0
    most: int = 0
    _free: float = 0.0
    _rng: random.Random = field(default_factory=lambda: random.Random(1))

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_error):
        return None

    async def run(self, job) -> Rollout:
        """The driver's part, the wait, and the true answer."""
        loop = asyncio.get_running_loop()
        self._free = max(self._free, loop.time()) + self.driver
        await asyncio.sleep(self._free - loop.time())
        seconds = self._rng.lognormvariate(math.log(self.median), self.spread)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(seconds)
        self.running -= 1
        self.used += seconds
        self.rollouts += 1
        with self.threads:
            outcome = await self.agent.run(None if job.skill.empty else job.skill, job.task, 0, Path())
            score = await self.verifier.score(job.task, outcome, Path())
        return Rollout(key=job.key, task_id=job.task.id, score=score, duration=seconds, answer=outcome.answer)


@dataclass(frozen=True)
class Simulated:
    """What a simulated run gave. `busy` is the share of the time that a slot worked."""

    rollouts: int
    seconds: float
    busy: float
    most: int


def simulate(folder: Path, settings: Settings, *, slots: int, median: float, driver: float) -> Simulated:
    """The product's own pipeline on the example skill, with a stub in place of the cluster and a clock that jumps."""
    evals = EXAMPLE / "evals"
    job = ValuationJob(
        skill=EXAMPLE, tasks=evals / "tasks.jsonl", agent="python:agent.py:answer", settings=settings, folder=evals
    )
    prepared = prepare(job)
    threads = AtWork()
    stub = Stub(slots, median, driver, prepared.agent, prepared.verifier, threads)

    async def counted(function, *arguments, **options):
        with threads:
            return await in_thread(function, *arguments, **options)

    in_thread, engine_maker = anyio.to_thread.run_sync, session.make_engine
    anyio.to_thread.run_sync, session.make_engine = counted, lambda *_parts: stub
    loop = VirtualLoop(lambda: threads.count > 0)
    try:
        work = run_rollouts(prepared, RunFolder(folder), lambda _event: None, Stop())
        loop.run_until_complete(work)
        seconds = loop.time()
    finally:
        anyio.to_thread.run_sync, session.make_engine = in_thread, engine_maker
        loop.close()
    return Simulated(stub.rollouts, seconds, stub.used / (slots * seconds), stub.most)


def a_thousand_slots(folder: Path, *, driver: float, quick: bool) -> list[tuple[str, float, str]]:
    """A thousand slots with the latencies of a coding agent and of a small model, by method."""
    usual = {"method": "chain", "jobs": 1000, "panel_b": 0, "window": 8}
    many = 12 if quick else 48
    cases = [
        ("chain, 12 orders", Settings(**usual), 60.0),
        ("chain, 12 orders, --speculate 64", Settings(**usual, speculate=64), 60.0),
        (f"chain, {many} orders, --tolerance off", Settings(**usual, orders=many, tolerance=None), 60.0),
        ("auto", Settings(method="auto", jobs=1000, panel_b=0, max_rollouts=600 if quick else 2400), 60.0),
        (f"chain, {many} orders, --tolerance off", Settings(**usual, orders=many, tolerance=None), 0.7),
    ]
    figures = []
    for number, (name, settings, median) in enumerate(cases):
        done = simulate(folder / str(number), settings, slots=1000, median=median, driver=driver)
        what = f"1,000 slots, rollouts of {median:g} s (median), {name}"
        figures += [
            (
                f"{what}: {done.rollouts:,} rollouts, {done.most} at once at most",
                done.seconds / 60,
                "minutes (virtual)",
            ),
            (what, done.rollouts / done.seconds, "rollouts a second (virtual)"),
            (what, done.busy, "of the slots' time used"),
        ]
    return figures


def figures(*, quick: bool = False) -> list[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = on_a_cluster(folder, quick=quick) if find_spec("ray") else []
        driver = found[0][1] * 3e-3 if found else 3e-3
        return [
            *found,
            *one_driver(folder / "driver", quick=quick),
            *a_thousand_slots(folder, driver=driver, quick=quick),
        ]


if __name__ == "__main__":
    for name, value, unit in figures(quick="--quick" in sys.argv):
        print(f"{value:10.3f}  {unit:34} {name}")
