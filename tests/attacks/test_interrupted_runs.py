"""Runs that are killed or interrupted: nothing paid for is lost, and what they leave is removed by the next run."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from skillsv.cli import run
from skillsv.rollout import LocalEngine
from skillsv.sandbox.left_folders import folder_prefix, remove_left_folders

HOLD = """
import sys
from pathlib import Path
from skillsv.model.task import Task
from skillsv.sandbox.workspace import fresh_workspace
from skillsv.sandbox.process import private_folder
with fresh_workspace(Task(id="t", input="?")) as folder, private_folder() as private:
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/out.txt").write_text("x")
    (folder / "link").symlink_to(sys.argv[1])
    (folder / "a").chmod(0)
    print(folder, private, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "tmp"
    folder.mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("the user's")
    return folder


def hold(temporary):
    """A process with a workspace and a private folder, and these folders."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(temporary.parent / "kept")],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, [Path(name) for name in process.stdout.readline().split()]


def test_folders_of_a_killed_run_are_removed_and_those_of_a_living_one_kept(temporary):
    killed, left = hold(temporary)
    living, used = hold(temporary)
    try:
        killed.kill()
        killed.wait()
        assert all(path.exists() for path in left)
        assert remove_left_folders(temporary) == 2
        assert not any(path.exists() for path in left)
        assert all(path.exists() for path in used)
        assert (temporary.parent / "kept/file").read_text() == "the user's"
        assert remove_left_folders(temporary) == 0
    finally:
        living.communicate("")
    assert list(temporary.iterdir()) == [], "a process that ends removes its folders and its lock"


def test_the_next_run_removes_what_a_killed_one_left(temporary, monkeypatch):
    process, left = hold(temporary)
    process.kill()
    process.wait()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    async def open_engine():
        async with LocalEngine(None, None):
            return [path for path in left if path.exists()]

    assert anyio.run(open_engine) == []


def test_names_that_others_could_plant_are_not_followed(temporary):
    """Locks that are links or pipes, locks without folders, folders that are links, folders without a lock."""
    kept = temporary.parent / "kept"
    (temporary / "skillsv-000000000001.lock").symlink_to(kept / "file")
    os.mkfifo(temporary / "skillsv-000000000002.lock")
    (temporary / "skillsv-000000000003.lock").write_text("")
    (temporary / "skillsv-000000000003-x").symlink_to(kept)
    (temporary / "skillsv-000000000003-y").write_text("a file")
    (temporary / "skillsv-000000000001-x").mkdir()
    (temporary / "skillsv-000000000004-x").mkdir()
    (temporary / "skillsv-..lock").write_text("")
    assert remove_left_folders(temporary) == 0
    assert (kept / "file").read_text() == "the user's"
    assert not (temporary / "skillsv-000000000003.lock").exists()
    assert (temporary / "skillsv-000000000001-x").is_dir()
    assert (temporary / "skillsv-000000000004-x").is_dir()


def test_the_names_of_one_process_have_one_beginning():
    assert folder_prefix() == folder_prefix()
    assert folder_prefix().startswith("skillsv-")


AGENT = """
import os, threading
number, lock = [0], threading.Lock()
def answer(skill, task, replicate):
    with lock:
        number[0] += 1
        mine = number[0]
    if mine > {quick}:
        open({folder!r} + f"/hangs-{{mine}}", "w").close()
        threading.Event().wait()
    return "alpha"
"""


def wait_until(condition, process, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def press_twice(process):
    """Press Ctrl-C, and again two seconds later, as people do; what the process says. Two in a row would be one signal."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=2)[1]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=60)[1]


def saved(ledger):
    """How many rollouts the ledger holds; 0 while there is none."""
    try:
        with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True) as connection:
            return connection.execute("select count(*) from rollout where score is not null").fetchone()[0]
    except sqlite3.Error:
        return 0


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["function", "program"])
def test_two_interrupts_with_256_jobs_save_what_ended(tmp_path, kind):
    """Some rollouts have ended, all other jobs hang: the second Ctrl-C ends the process and loses none that ended."""
    quick, jobs = 7, 256 if kind == "function" else 24
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/SKILL.md").write_text("# Words\n\n" + "".join(f"- Say `alpha{n}`.\n" for n in range(12)))
    (tmp_path / "agent.py").write_text(AGENT.format(quick=quick, folder=str(tmp_path)))
    (tmp_path / "agent.sh").write_text(
        f"#!/bin/sh\nfor n in 1 2 3 4 5 6 7; do if mkdir {tmp_path}/quick-$n 2>/dev/null; then echo alpha; exit 0; fi; done\n"
        f"touch {tmp_path}/hangs-$$\nexec sleep 600\n"
    )
    (tmp_path / "agent.sh").chmod(0o755)
    task = {"input": "?", "target": "alpha", "verifier": "contains"}
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps({"id": f"t{n}", **task}) + "\n" for n in range(300)))
    agent = f"python:{tmp_path}/agent.py:answer" if kind == "function" else f"command:{tmp_path}/agent.sh"
    words = [
        "--tasks",
        f"{tmp_path}/tasks.jsonl",
        "--agent",
        agent,
        "-j",
        str(jobs),
        "-k",
        "4",
        "-b",
        "100",
        "--panel-b",
        "0",
    ]
    command = [sys.executable, "-m", "skillsv", "value", f"{tmp_path}/tiny", *words, "--yes", "--quiet", "--keep-going"]
    process = subprocess.Popen(
        [*command, "--run-dir", f"{tmp_path}/run"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: any(tmp_path.glob("hangs-*")) and saved(tmp_path / "run/ledger.sqlite") >= quick, process)
        errors = press_twice(process)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert saved(tmp_path / "run/ledger.sqlite") == quick
    assert json.loads((tmp_path / "run/notes.json").read_text())["provisional"] is True


def test_a_killed_run_is_provisional(tmp_path, capsys):
    """Nothing runs in a process that is killed, so a run is marked as unfinished when it begins."""
    quick = 7
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/SKILL.md").write_text("# Words\n\n- Say `alpha`.\n- Say `beta`.\n")
    (tmp_path / "agent.py").write_text(AGENT.format(quick=quick, folder=str(tmp_path)))
    task = {"input": "?", "target": "alpha", "verifier": "contains"}
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps({"id": f"t{n}", **task}) + "\n" for n in range(20)))
    words = [f"{tmp_path}/tiny", "--tasks", f"{tmp_path}/tasks.jsonl", "--agent", f"python:{tmp_path}/agent.py:answer"]
    process = subprocess.Popen(
        [sys.executable, "-m", "skillsv", "value", *words, "--yes", "--quiet", "--run-dir", f"{tmp_path}/run"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: any(tmp_path.glob("hangs-*")) and saved(tmp_path / "run/ledger.sqlite") >= quick, process)
    finally:
        process.kill()
        process.communicate()
    assert json.loads((tmp_path / "run/notes.json").read_text())["provisional"] is True
    assert run(["status", f"{tmp_path}/run"]) == 0
    assert "stopped before its end" in capsys.readouterr().out
