"""What a warm process saves: resets and steps of real ALFWorld games, as multiples of the published environment's.

Processor time of the process that plays, since machines are busy. Nothing where the packages or the data are missing.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

DATA = Path(__file__).resolve().parents[2] / "shared" / "benchmarks" / "alfworld"
EVERY = 16
"""One game of so many is measured."""

PROGRAM = """
import sys, time
import msgspec
from skillsv_bench.alfworld.tasks import read_game
from skillsv_bench.alfworld.player import TextWorldPlayer
from pathlib import Path

clock = time.process_time
player = TextWorldPlayer(quick=sys.argv[1] == "quick")
took = {"first reset": 0.0, "next reset": 0.0, "step": 0.0}
steps = 0
for name in sys.argv[2:]:
    for what in ("first reset", "next reset"):
        start = clock()
        player.start(name)
        took[what] += clock() - start
    for action in [*read_game(Path(name)).walkthrough[:-1], "look", "inventory"]:
        start = clock()
        player.act(action)
        took["step"] += clock() - start
        steps += 1
games = len(sys.argv) - 2
means = {what: total / (steps if what == "step" else games) for what, total in took.items()}
print(msgspec.json.encode(means).decode())
"""


def figures() -> list[tuple[str, float, str]]:
    files = [str(file) for file in sorted(DATA.glob("json_2.1.1/*/*/*/game.tw-pddl"))[::EVERY]]
    if not files or find_spec("textworld") is None:
        return []
    plain, quick = measured("plain", files), measured("quick", files)
    rows = []
    for what, seconds in quick.items():
        rows += [
            (f"{what} of {len(files)} games, warm process", 1000 * seconds, "ms of one core"),
            (f"{what}, published environment", plain[what] / seconds, "x the warm process"),
        ]
    return rows


def measured(how: str, files: list[str]) -> dict[str, float]:
    """Mean seconds of each kind of call, in a fresh process."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, how, *files], capture_output=True, text=True, check=True)
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=dict[str, float])


if __name__ == "__main__":
    for figure, value, unit in figures():
        print(f"{value:>12.3f}  {unit:<24} {figure}")
