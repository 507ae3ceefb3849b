"""A killed process leaves nothing running and no folder behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skillsv.sandbox.termination import kill_marked

NAP = "86398.75"

PROGRAM = f"""
import sys, anyio, os
from pathlib import Path
from skillsv.sandbox.process import Limits, run_program
from skillsv.sandbox.orphan_reaper import post_warden

async def main():
    warden = post_warden(Path(sys.argv[1]))
    script = "setsid sleep {NAP} & sleep {NAP}"
    await run_program(["sh", "-c", script], cwd=Path("/"), env=dict(os.environ), limits=Limits(seconds=None))

anyio.run(main)
"""


def sleepers() -> list[str]:
    told = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in told.splitlines() if line.rstrip().endswith(f"sleep {NAP}")]


def wait_until(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_programs_of_a_killed_process_end_with_all_they_started_and_its_folder_goes(tmp_path):
    folder = tmp_path / "scratch"
    (folder / "deep").mkdir(parents=True)
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder)])
    wait_until(lambda: len(sleepers()) >= 2)
    assert folder.is_dir()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not sleepers() and not folder.exists())


def test_programs_of_others_are_left_alone():
    other = subprocess.Popen(["sleep", "60"], env={**os.environ, "SKILLSV_ROLLOUT": f"{os.getpid()}1-x"})
    try:
        wait_until(lambda: b"SKILLSV_ROLLOUT" in Path(f"/proc/{other.pid}/environ").read_bytes())
        assert not kill_marked(os.getpid())
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
