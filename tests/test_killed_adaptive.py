"""An adaptive run that is killed several times ends like the uninterrupted one, and runs no rollout twice."""

import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter

import pytest

from skillsv.cli.demo import example_folder

AGENT = """\
import os
import sys
from pathlib import Path

sys.path.insert(0, {evals!r})
import agent as example

LOG = Path({log!r})
PIPE = {pipe!r}


async def answer(skill, task, replicate):
    result = await example.answer(skill, task, replicate)
    with LOG.open("a") as log:
        log.write(f"{{hash_of(skill)}} {{task.id}} {{replicate}}\\n")
    with open(PIPE, "w") as pipe:  # the test counts rollouts here, and may kill this process
        pipe.write(".")
    return result


def hash_of(skill):
    import hashlib

    parts = [] if skill is None else [skill.text.encode(), *(skill.files[name] for name in sorted(skill.files))]
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]
"""


def command(place, run):
    skill = example_folder()
    return [
        sys.executable, "-m", "skillsv", "value", str(skill), "--tasks", str(skill / "evals" / "tasks.jsonl"),
        "--agent", f"python:{place / 'agent.py'}:answer", "--operators", "delete", "--max-rollouts", "300",
        "--panel-a", "24", "--panel-b", "0", "--jobs", "4", "--quiet", "--json", "--run-dir", str(run),
    ]  # fmt: skip


def write_agent(place):
    names = {"evals": str(example_folder() / "evals"), "log": str(place / "log.txt"), "pipe": str(place / "pipe")}
    (place / "agent.py").write_text(AGENT.format(**names))


def run_and_kill_after(place, run, count):
    """Run until `count` more rollouts are finished, then SIGKILL the process group. True if it ended before that."""
    process = subprocess.Popen(
        command(place, run), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    seen = 0
    fifo = os.open(place / "pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        while process.poll() is None and seen < count:
            ready, _, _ = select.select([fifo], [], [], 0.2)
            seen += len(os.read(fifo, 1)) if ready else 0
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait() == 0
    finally:
        os.close(fifo)


def run_to_end(place, run):
    process = subprocess.run(command(place, run), capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.mark.heavy
@pytest.mark.parametrize("kills", [[7, 90], pytest.param([11, 90, 1, 40, 75, 20, 5, 130], marks=pytest.mark.heavy)])
def test_killed_and_resumed_gives_the_same_values(tmp_path, kills):
    os.mkfifo(tmp_path / "pipe")
    write_agent(tmp_path)
    for count in kills:
        run_and_kill_after(tmp_path, tmp_path / "killed", count)
    fifo = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        resumed = run_to_end(tmp_path, tmp_path / "killed")
        log = Counter((tmp_path / "log.txt").read_text().splitlines())
        uninterrupted = run_to_end(tmp_path, tmp_path / "uninterrupted")
    finally:
        os.close(fifo)
    assert resumed["units"] == uninterrupted["units"]
    assert resumed["anchors"] == uninterrupted["anchors"]
    assert resumed["rollouts"]["reused"] > uninterrupted["rollouts"]["reused"]
    repeated = sum(count - 1 for count in log.values())
    assert repeated <= 4 * len(kills)  # at most the rollouts that were under way
