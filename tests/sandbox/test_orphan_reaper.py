"""The orphan reaper: programs and the folder of a killed process are removed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skillsv.sandbox.termination import ROLLOUT_VARIABLE, kill_programs_of

SLEEP_SECONDS = "86398.75"
"""A number that no other program on the machine sleeps for."""

PROGRAM = f"""
import sys, anyio, os
from pathlib import Path
from skillsv.sandbox.process import Limits, run_program
from skillsv.sandbox.orphan_reaper import start_orphan_reaper

async def main():
    reaper = start_orphan_reaper(Path(sys.argv[1]))
    script = "setsid sleep {SLEEP_SECONDS} & sleep {SLEEP_SECONDS}"
    await run_program(["sh", "-c", script], cwd=Path("/"), env=dict(os.environ), limits=Limits(seconds=None))

anyio.run(main)
"""


def list_sleeping_programs() -> list[str]:
    output = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in output.splitlines() if line.rstrip().endswith(f"sleep {SLEEP_SECONDS}")]


def wait_until(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true within 30 s"
        time.sleep(0.02)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_descendants_and_folder_of_a_killed_process_are_removed(tmp_path):
    folder = tmp_path / "scratch"
    (folder / "deep").mkdir(parents=True)
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder)])
    wait_until(lambda: len(list_sleeping_programs()) >= 2)
    assert folder.is_dir()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not list_sleeping_programs() and not folder.exists())


def test_programs_of_another_process_continue_to_run():
    other = subprocess.Popen(["sleep", "60"], env={**os.environ, ROLLOUT_VARIABLE: f"{os.getpid()}1-x"})
    try:
        wait_until(lambda: ROLLOUT_VARIABLE.encode() in Path(f"/proc/{other.pid}/environ").read_bytes())
        assert not kill_programs_of(os.getpid())
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
