"""The orphan reaper: a small program that ends what a killed process left running.

    python -m skillsv.sandbox.orphan_reaper PROCESS FOLDER

Its stdin is a pipe that only PROCESS holds open. When PROCESS ends, for whatever reason, the reaper kills every program
that PROCESS started, with all descendants, and removes FOLDER. The death signal of the operating system would end only
the program itself: a model client that a coding agent has started would continue to spend money.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from skillsv.sandbox.folders import remove_folder
from skillsv.sandbox.termination import KILL_PAUSE, KILL_ROUNDS, kill_programs_of


def start_orphan_reaper(folder: Path) -> subprocess.Popen[bytes]:
    """Start a reaper for this process and `folder`. The caller must keep the result: it holds the pipe open."""
    command = [sys.executable, "-P", "-m", "skillsv.sandbox.orphan_reaper", str(os.getpid()), str(folder)]
    reaper = subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    reaper.wait()  # it has forked; its child reads the same pipe
    return reaper


def main(process: int, folder: Path) -> None:
    """Wait for the end of stdin, then kill the programs of `process` and remove `folder`."""
    if os.fork():  # the waiting process is no child of `process`, so code that ends all children does not end it
        os._exit(0)
    sys.stdin.buffer.read()
    for _ in range(KILL_ROUNDS):  # a program may fork after it was listed and before it is killed
        if not kill_programs_of(process):
            break
        time.sleep(KILL_PAUSE)
    remove_folder(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
