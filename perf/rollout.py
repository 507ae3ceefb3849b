"""What the rollout package itself costs: CPU and memory per rollout, concurrency, the ledger at a million.

Each figure is a ratio within one run: measured over its bound, so at most 1.0 is good. `--quick` shrinks all sizes.
"""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio
from anyio.lowlevel import checkpoint

from skillsv.model.coalition import ChainPlan, Operator, RenderedFile, Rendering
from skillsv.model.rollout import Outcome, Rollout, RolloutKey
from skillsv.model.task import Task, TaskWindow
from skillsv.rollout import Ledger, LocalEngine, Runner, RunnerOptions, chain_policy

BOTH = (Operator.DELETE, Operator.PAD)


class InstantAgent:
    """Answers at once, or after a sleep."""

    fingerprint = "instant/1"

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    async def run(self, skill, task, replicate, workspace):  # noqa: ARG002
        """Give an answer that depends on skill and task."""
        await (anyio.sleep(self.seconds) if self.seconds else checkpoint())
        return Outcome(answer="1" if skill is not None and (len(skill.text) + len(task.id)) % 3 else "0")


class Compare:
    """Takes the answer for the score."""

    async def score(self, task, outcome, workspace):  # noqa: ARG002
        """The answer as a number."""
        return float(outcome.answer)


def render(coalition, operator):
    data = f"{operator}:{' '.join(sorted(coalition))}".encode()
    digest = hashlib.sha256(data).hexdigest()
    files = (RenderedFile(path="SKILL.md", data=data, digest=digest),) if coalition else ()
    return Rendering(
        coalition=coalition, operator=operator, skill_name="b", main="SKILL.md", files=files, digest=digest
    )


def chains(count: int, n: int, b: int):
    """Untruncated chains whose prefixes never coincide, so that every request is a rollout."""
    for index in range(count):
        order = ("m", *(f"c{index}-u{unit}" for unit in range(1, n)))
        window = TaskWindow(tasks=tuple(f"t{task}" for task in range(b)))
        plan = ChainPlan(index=index, order=order, window=window, operators=BOTH, tolerance=None, replicate=index)
        yield chain_policy(plan, "m")


def run(folder: Path, agent: InstantAgent, *, count: int, n: int, b: int, jobs: int):
    """Run chains; gives the number of rollouts, CPU seconds and wall seconds."""
    panel = {f"t{task}": Task(id=f"t{task}", input="", digest=f"d{task}") for task in range(b)}

    async def go():
        with Ledger.open(folder / "ledger.sqlite") as ledger:
            engine = LocalEngine(agent, Compare())
            options = RunnerOptions(jobs=jobs)
            runner = Runner(engine, ledger, render, panel, agent.fingerprint, options, lambda _event: None)
            await runner.run_policies(chains(count, n, b))
            return runner.spending

    cpu, wall = time.process_time(), time.perf_counter()
    spending = anyio.run(go)
    return spending, time.process_time() - cpu, time.perf_counter() - wall


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def instant(folder: Path, rollouts: int) -> list[tuple[str, float, str]]:
    n, b = 50, 8
    count = max(1, round(rollouts / (b * (4 + 2 * (n - 2)))))
    few, _, _ = run(folder / "few", InstantAgent(), count=max(1, count // 10), n=n, b=b, jobs=32)
    early = memory_mb()
    spending, cpu, wall = run(folder / "many", InstantAgent(), count=count, n=n, b=b, jobs=32)
    late = memory_mb()
    again, cpu_again, _ = run(folder / "many", InstantAgent(), count=count, n=n, b=b, jobs=32)
    done = spending.spent
    return [
        (f"own CPU per rollout, {done:,} instant rollouts with ledger", cpu / done / 1e-3, "of 1 ms"),
        (f"own CPU per answer when all {again.reused:,} are reused", cpu_again / again.reused / 1e-3, "of 1 ms"),
        (f"peak memory after {done:,} rollouts", late / 300, "of 300 MB"),
        (f"peak memory, {done:,} rollouts", late / early, f"of that at {few.spent:,}"),
        ("wall time of the instant run", wall / cpu, "of its CPU time"),
    ]


def sleeping(folder: Path, jobs: int, seconds: float) -> list[tuple[str, float, str]]:
    n, b, count = 12, 8, 24
    spending, _, wall = run(folder / "sleeping", InstantAgent(seconds), count=count, n=n, b=b, jobs=jobs)
    bare = bare_sleeps(spending.spent, jobs, seconds)
    what = f"wall time, {jobs} at once of {seconds} s, {spending.spent:,} rollouts"
    return [
        (what, wall / bare / 1.1, "of 1.1 bare loop of the sleeps"),
        (what, wall / (spending.spent * seconds / jobs) / 1.1, "of 1.1 ideal (idle machine)"),
    ]


def bare_sleeps(count: int, jobs: int, seconds: float) -> float:
    """The same sleeps with nothing around them, on the same machine at the same load."""

    async def sleeper(turns: int) -> None:
        for _ in range(turns):
            await anyio.sleep(seconds)

    async def go() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(jobs):
                group.start_soon(sleeper, -(-count // jobs))

    began = time.perf_counter()
    anyio.run(go)
    return time.perf_counter() - began


def large_ledger(folder: Path, rows: int) -> list[tuple[str, float, str]]:
    path = folder / "large" / "ledger.sqlite"
    fill(path.parent, rows)
    began = time.perf_counter()
    ledger = Ledger.open(path)
    opening = time.perf_counter() - began
    keys = [_key(number * 7919 % rows) for number in range(20_000)]
    ledger.lookup(keys[:1000])
    began = time.process_time()
    found = ledger.lookup(keys)
    per_lookup = (time.process_time() - began) / len(keys)
    assert len(found) == len(set(keys))
    began = time.perf_counter()
    ledger.summary()
    summary = time.perf_counter() - began
    ledger.close()
    return [
        (f"opening a ledger of {rows:,}", opening / 1.0, "of 1 s"),
        (f"CPU of one lookup among {rows:,}", per_lookup / 100e-6, "of 100 µs"),
        (f"counts of {rows:,} rollouts for status", summary / 5.0, "of 5 s"),
    ]


def driver_memory(rows: int, rollouts: int) -> list[tuple[str, float, str]]:
    """Peak memory of a driver with 1,000 jobs on a ledger of so many rollouts, in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        few, many = (
            float(subprocess.check_output([sys.executable, "-m", "perf.rollout", step, name, str(rows), str(count)]))
            for step, count in (("--drive", rollouts // 10), ("--drive", rollouts))
        )
    what = f"peak memory of a driver, 1,000 jobs, {rows:,} rollouts in the ledger"
    return [
        (f"{what}, {rollouts:,} more", many / 300, "of 300 MB"),
        (f"{what}, {rollouts:,} more", many / few, f"of that with {rollouts // 10:,} more"),
    ]


def drive(folder: Path, rows: int, rollouts: int) -> float:
    """Run instant rollouts on the ledger of this folder, filled first in another process; peak memory in MB."""
    place = folder / "driver"
    if not (place / "ledger.sqlite").exists():
        subprocess.check_call([sys.executable, "-m", "perf.rollout", "--fill", str(place), str(rows), "0"])
    n, b = 50, 8
    run(place, InstantAgent(), count=max(1, round(rollouts / (b * (4 + 2 * (n - 2))))), n=n, b=b, jobs=1000)
    # Not ru_maxrss: a process takes over the peak of the one that started it.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def fill(folder: Path, rows: int) -> None:
    """A ledger with so many rollouts of another agent."""
    folder.mkdir(parents=True)
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        for start in range(0, rows, 10_000):
            numbers = range(start, min(rows, start + 10_000))
            ledger.record(*(Rollout(key=_key(number), task_id="t", score=0.5, answer="x") for number in numbers))


def _key(number: int) -> RolloutKey:
    name = hashlib.sha256(str(number).encode()).hexdigest()
    return RolloutKey(tree=name, task=name[::-1], agent="agent/1", replicate=0)


def figures(*, quick: bool = False) -> list[tuple[str, float, str]]:
    scale = 10 if quick else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            *instant(folder, 100_000 // scale),
            *sleeping(folder, 64, 0.2),
            *large_ledger(folder, 1_000_000 // scale),
            *driver_memory(1_000_000 // scale, 40_000 // scale),
        ]


if __name__ == "__main__" and "--drive" in sys.argv:
    print(drive(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
elif __name__ == "__main__" and "--fill" in sys.argv:
    fill(Path(sys.argv[2]), int(sys.argv[3]))
elif __name__ == "__main__":
    for name, value, unit in figures(quick="--quick" in sys.argv):
        print(f"{value:8.3f}  {unit:34} {name}")
