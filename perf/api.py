"""CPU per rollout of `sv.value` beside that of `skillsv value`: the same skill, tasks, agent and settings."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from perf.startup import child_cpu
from skillsv_bench.planted.generate import planted_skill, write_game

GAME = "livemath"

ORDERS = 24
"""Chains of a run: about 2,000 rollouts. The start of the program is part of the CPU time of both ways."""

REPETITIONS = 5
"""Runs of each way. They take turns, so that a change of the machine's load meets both."""

BOUND = 1.1
"""How much more CPU a rollout through the library may take."""

LIBRARY = """
import json, sys
import skillsv as sv
skill, tasks, agent, folder, orders = sys.argv[1:]
run = sv.value(skill, tasks=tasks, agent=agent, run_dir=folder, method="chain", orders=int(orders), panel_b=0, yes=True)
print(json.dumps(run.valuation.to_dict(), indent=2))
"""


def figures() -> list[tuple[str, float, str]]:
    """CPU per rollout of both, and their ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        skill = write_game(planted_skill(GAME), folder)
        job = (str(skill), str(folder / "tasks.jsonl"), "planted:rules")
        library, command = [], []
        for number in range(REPETITIONS):
            command.append(run_command(job, folder / f"command-{number}"))
            library.append(run_library(job, folder / f"library-{number}"))
    rollouts = {spent for _, spent in (*command, *library)}
    assert len(rollouts) == 1, f"the two ways ran different numbers of rollouts: {rollouts}"
    (spent,) = rollouts
    per_command, per_library = (median(cpu for cpu, _ in runs) / spent for runs in (command, library))
    return [
        (f"skillsv value, {spent:,} rollouts, start included", 1000 * per_command, "ms CPU per rollout"),
        (f"sv.value, {spent:,} rollouts, start included", 1000 * per_library, "ms CPU per rollout"),
        ("CPU per rollout, sv.value", per_library / per_command, "x skillsv value"),
        ("CPU per rollout, sv.value", per_library / per_command / BOUND, "of 1.1 x skillsv value"),
    ]


def run_command(job: tuple[str, str, str], folder: Path) -> tuple[float, int]:
    """CPU seconds and rollouts of one run of the command."""
    skill, tasks, agent = job
    words = ["value", skill, "--tasks", tasks, "--agent", agent, "--run-dir", str(folder), "--method", "chain"]
    words += ["--orders", str(ORDERS), "--panel-b", "0", "--yes", "--quiet", "--json"]
    return run_program(["-m", "skillsv", *words])


def run_library(job: tuple[str, str, str], folder: Path) -> tuple[float, int]:
    """CPU seconds and rollouts of one run of the library."""
    return run_program(["-c", LIBRARY, *job, str(folder), str(ORDERS)])


def run_program(words: list[str]) -> tuple[float, int]:
    """CPU seconds of a program of its own, and the rollouts that its JSON names."""
    before = child_cpu()
    result = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
    return child_cpu() - before, json.loads(result.stdout)["rollouts"]["spent"]
