"""A program that runs chains, kills the run at random moments and resumes it. Only its child processes die.

    python killed_run.py FOLDER KILLS SEED

Each session is a forked child that runs all chains on FOLDER and logs every invocation of its agent. The parent kills
it with SIGKILL after a random number of invocations and a short random time, reads what the ledger then holds, and
starts the next; the last one finishes. The program prints one JSON object for the test.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

import anyio
from worlds import ToyAgent, ToyVerifier, no_workspace, plan, render, tasks, units

from skillsv.model.skill import FileRole, Skill, SkillFile
from skillsv.rollout import Ledger, LocalEngine, RunFolder, Runner, RunnerOptions, chain_policy

N = 10
B = 4
CHAINS = 8
JOBS = 4
SKILL = Skill(
    name="toy",
    root=Path(),
    main="SKILL.md",
    files=(SkillFile(path="SKILL.md", role=FileRole.MAIN, data=b"m", size=1, digest="d"),),
)


class LoggingAgent(ToyAgent):
    """Logs every invocation before it acts; a write to an append-only file survives SIGKILL.

    A write across the boundary of two pages can be cut there by SIGKILL. Every entry begins on a line of its own, so a
    cut one never joins the next: both count as invocations.
    """

    def __init__(self, log: Path) -> None:
        super().__init__(seconds=0.01)  # long enough that fifty kills come before the end, also on a fast machine
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def run(self, skill, task, replicate, workspace):
        os.write(self._log, f"\n{'bare' if skill is None else skill.digest} {task.digest}".encode())
        return await super().run(skill, task, replicate, workspace)


async def session(path: Path) -> None:
    folder = RunFolder(path)
    everything = frozenset(units(N))
    agent = LoggingAgent(path / "invocations.log")
    with Ledger.open(folder.ledger) as ledger:
        folder.begin({"settings": {"orders": CHAINS}}, SKILL)
        runner = Runner(
            LocalEngine(agent, ToyVerifier(), workspace=no_workspace),
            ledger,
            lambda coalition, operator: render(coalition, operator, everything),
            tasks(B),
            agent.fingerprint,
            RunnerOptions(jobs=JOBS, run=folder.run_id),
            lambda event: None,
        )
        policies = [chain_policy(plan(N, B, index=index, rotate=index, tolerance=0.05), "m") for index in range(CHAINS)]
        await runner.run_policies(policies, on_result=lambda index, record: folder.append(record))


def invocations(path: Path) -> list[str]:
    log = path / "invocations.log"
    return [line for line in log.read_text().splitlines() if line] if log.exists() else []


def saved(path: Path) -> set[str]:
    """What the ledger holds, read as any other program would."""
    if not (path / "ledger.sqlite").exists():
        return set()
    raw = sqlite3.connect(path / "ledger.sqlite")
    try:
        return {f"{tree} {task}" for tree, task in raw.execute("SELECT tree, task FROM rollout")}
    except sqlite3.OperationalError:  # killed before the tables were there
        return set()
    finally:
        raw.close()


def start(path: Path) -> int:
    child = os.fork()
    if child == 0:
        anyio.run(session, path)
        os._exit(0)
    return child


def kill_later(path: Path, child: int, rng: random.Random) -> bool:
    """Kill the child at a random moment; False if it came to its end before that."""
    log, lines = path / "invocations.log", rng.randint(0, 6)
    wanted = (log.stat().st_size if log.exists() else 0) + lines * 70
    while (log.stat().st_size if log.exists() else 0) < wanted:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0, f"a session failed: {status}"
            return False
        time.sleep(0.0005)
    time.sleep(rng.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main(path: Path, kills: int, seed: int) -> None:
    path.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    done, wasted, paid_twice = 0, [], []
    while True:
        before, known = len(invocations(path)), saved(path)
        child = start(path)
        if done < kills and kill_later(path, child, rng):
            done += 1
            new = invocations(path)[before:]
            wasted.append(len(set(new) - saved(path)))
        else:
            if done >= kills:
                _, status = os.waitpid(child, 0)
                assert status == 0, f"the last session failed: {status}"
            new = invocations(path)[before:]
            paid_twice.extend(known.intersection(new))
            break
        paid_twice.extend(known.intersection(new))
    result = {"kills": done, "wasted": wasted, "paid_twice": paid_twice, "invocations": len(invocations(path))}
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
