"""`skillsv value --engine ray`: the same values, Ctrl-C, a killed driver that resumes, and dead addresses."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytest.importorskip("ray", reason="needs the extra `ray`")

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]

SKILL = """---
name: toy
description: Answers letters.
---

# Rules

- Say A for one.
- Say B for two.
- Say C for three.
- Never say D.
"""

AGENT = """
import hashlib

def answer(skill, task, replicate):
    text = "".join(line for line in (skill.text if skill else "").splitlines() if line.startswith("- "))
    number = hashlib.sha256(f"{text}|{task.id}".encode()).digest()[0]
    return f"x{task.id[1:]}" if number % 5 < text.count("- ") else "?"
"""

SLEEP = "86397.5"
KEY = "sk-toy-90a1c4e7d2"

SLEEPING = f"#!/bin/sh\nsetsid sleep {SLEEP} &\nsleep {SLEEP}\n"


def sleepers() -> list[str]:
    processes = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in processes.splitlines() if line.rstrip().endswith(f"sleep {SLEEP}")]


def wait_until(condition, process: subprocess.Popen | None = None, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)


@pytest.fixture
def place(tmp_path):
    """A skill, tasks and two agents."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "sleep.sh").write_text(SLEEPING)
    (tmp_path / "sleep.sh").chmod(0o755)
    (tmp_path / "note.txt").write_text("a file of the task")
    lines = [
        json.dumps({"id": f"t{index}", "input": "?", "target": f"x{index}", "files": ["note.txt"]})
        for index in range(8)
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def command(engine: str, run: str, *more: str, agent: str = "python:agent.py:answer") -> list[str]:
    words = f"value toy --tasks tasks.jsonl --panel-b 0 --engine {engine} --run-dir {run} --yes --quiet"
    return [sys.executable, "-m", "skillsv", *words.split(), "--agent", agent, *more]


def start(place: Path, *words: str) -> subprocess.Popen:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, cwd=place, env={**os.environ, "TOY_KEY": KEY}, start_new_session=True, **pipes)


def check_privacy(process: subprocess.Popen) -> None:
    """The cluster that it started listens on the loopback only, and has not inherited the key."""
    ray_processes = [
        child for child in psutil.Process(process.pid).children(recursive=True) if "ray" in " ".join(child.cmdline())
    ]
    sockets = [socket for child in ray_processes for socket in child.net_connections("tcp")]
    addresses = {socket.laddr.ip for socket in sockets if socket.status == "LISTEN"}
    assert addresses
    assert addresses <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert [child for child in ray_processes if KEY in child.environ().values()] == []


@pytest.mark.parametrize("method", ["chain", "auto"])
def test_the_result_equals_that_of_the_local_engine(cluster, place, method):
    answers = []
    for engine in ("local", f"ray:{cluster.address}"):
        run = f"run-{engine[:3]}"
        size = ("-k", "4", "-b", "4") if method == "chain" else ()
        words = command(engine, run, "--method", method, *size, "--json", "--max-rollouts", "2000")
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["settings"].pop("engine") == engine
        answers.append(answer)
    assert answers[0]["rollouts"]["spent"] > 50
    assert answers[0] == answers[1]


def test_ctrl_c_stops_the_agents_on_all_nodes(cluster, place):
    process = start(place, *command(f"ray:{cluster.address}", "run", agent="command:./sleep.sh"))
    wait_until(lambda: len(sleepers()) >= 12, process)
    process.send_signal(signal.SIGINT)  # let started rollouts finish
    time.sleep(0.5)  # two signals at once would count as one
    process.send_signal(signal.SIGINT)  # stop now
    try:
        _, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, stderr
    assert sleepers() == []


@pytest.mark.parametrize("alone", [False, True])
def test_a_killed_driver_leaves_no_agent_and_the_command_resumes(request, place, alone):
    engine = "ray" if alone else f"ray:{request.getfixturevalue('cluster').address}"
    words = command(
        engine,
        "run",
        "--max-rollouts",
        "60",
        "--method",
        "chain",
        "-k",
        "2",
        "--keep-going",
        agent="command:./sleep.sh",
    )
    process = start(place, *words)
    wait_until(lambda: len(sleepers()) >= 8, process)
    if alone:
        check_privacy(process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not sleepers())
    if not alone:
        (place / "sleep.sh").write_text("#!/bin/sh\necho x1\n")
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode in {0, 4}, done.stderr
        raw = sqlite3.connect(place / "run" / "ledger.sqlite")
        assert raw.execute("SELECT count(*) FROM rollout WHERE score IS NOT NULL").fetchone()[0] > 8
        raw.close()


def test_a_closed_port_and_a_silent_one_are_reported_in_time(place):
    with socket.socket() as closed, socket.socket() as silent:
        closed.bind(("127.0.0.1", 0))
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for server in (closed, silent):
            address = f"127.0.0.1:{server.getsockname()[1]}"
            done = subprocess.run(
                command(f"ray:{address}", "run"), cwd=place, capture_output=True, text=True, timeout=20, check=False
            )
            assert done.returncode == 5
            assert f"no Ray cluster answers at {address}" in done.stderr
            assert done.stdout == ""
