"""CPU of `skillsv estimate` for a skill of 1,800 units: a planted agent, about 3,000 rollouts, everything included.

The run is made first, which takes a few minutes. Limit: 10 seconds of CPU on an idle machine. The ratio compares with
`skillsv compile` of the same skill, which meets the same load of the machine.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from perf.startup import child_cpu

UNITS = 1_800
"""Bullets of the skill, 30 in a section."""

TASKS = 80
"""Tasks of the run; each depends on one or two bullets."""

ROLLOUTS = 3_000
"""Rollouts of the run."""

REPETITIONS = 3
"""Runs of each command. They take turns, so that a change of the machine's load meets both."""

BOUND = 10.0
"""Seconds of CPU that an estimate may take."""

_WORDS = ("check", "every", "total", "before", "you", "write", "an", "answer", "and", "name", "the", "source")
"""Words of the bullets."""


def figures() -> list[tuple[str, float, str]]:
    """CPU of an estimate, and its ratio to the CPU of compiling the skill."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        skill, tasks = write_skill(folder), write_tasks(folder)
        words = [
            "value",
            str(skill),
            "--tasks",
            str(tasks),
            "--agent",
            "planted:rules",
            "--run-dir",
            str(folder / "run"),
        ]
        run_program([*words, "--max-rollouts", str(ROLLOUTS), "--panel-b", "0", "--yes", "--quiet"])
        estimates, compiles = [], []
        for _ in range(REPETITIONS):
            estimates.append(run_program(["estimate", str(folder / "run")]))
            compiles.append(run_program(["compile", str(skill)]))
    what = f"skillsv estimate, {UNITS:,} units, {ROLLOUTS:,} rollouts"
    return [
        (what, median(estimates), "s of CPU"),
        (what, median(estimates) / BOUND, "of 10 s of CPU"),
        (what, median(estimates) / median(compiles), "x skillsv compile"),
    ]


def write_skill(folder: Path) -> Path:
    """A skill of sections of bullets; each bullet has a mark that the planted agent finds."""
    rng = random.Random(7)
    lines = ["---", "name: wide", "description: Many rules.", "---", "", "# Wide", ""]
    for number in range(UNITS):
        if number % 30 == 0:
            lines += ["", f"## Section {number // 30}", ""]
        lines.append(f"- [{mark(number)}] {' '.join(rng.choices(_WORDS, k=rng.randint(6, 18)))}.")
    skill = folder / "wide"
    skill.mkdir()
    (skill / "SKILL.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return skill


def write_tasks(folder: Path) -> Path:
    """Tasks that a bullet solves, that two solve together or each alone, and that a bullet spoils."""
    rng = random.Random(8)
    lines = []
    for number in range(TASKS):
        one, other = (mark(place) for place in rng.sample(range(UNITS), 2))
        kinds = (
            {"base": -1.0, "bare": -1.0, "main": {one: 2.0}},
            {"base": -1.0, "bare": -1.0, "all": [[[one, other], 2.0]]},
            {"base": -1.0, "bare": -1.0, "any": [[[one, other], 2.0]]},
            {"base": 1.0, "bare": 1.0, "main": {one: -3.0}},
        )
        task = {"id": f"t{number}", "input": f"Task {number}", "target": "solved"}
        lines.append(json.dumps({**task, "metadata": {"planted": kinds[number % len(kinds)]}}))
    path = folder / "tasks.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def mark(number: int) -> str:
    return f"rule-{number:04d}"


def run_program(words: list[str]) -> float:
    """Seconds of CPU of one command. A run that ends at its limit of rollouts has a result, too (exit code 4)."""
    before = child_cpu()
    done = subprocess.run([sys.executable, "-m", "skillsv", *words], check=False, capture_output=True)
    if done.returncode not in {0, 4}:
        raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
    return child_cpu() - before


if __name__ == "__main__":
    for what, value, unit in figures():
        print(f"{value:>14.3f}  {unit:<34} {what}")
