"""Ends what a killed process left running: a small program that waits for the end of the process it watches.

    python -m skillsv.sandbox.orphan_reaper PROCESS FOLDER

Its stdin is a pipe that only PROCESS holds open. When that ends, however it ended, every program that it had started
is killed with all its descendants, and FOLDER is removed. The system's own death signal reaches only the program
itself; what a coding agent has started would go on spending.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from skillsv.sandbox.termination import kill_marked

_ROUNDS = 100
_PAUSE = 0.02


def start_orphan_reaper(folder: Path) -> subprocess.Popen[bytes]:
    """Have this process watched: once it is gone, so are its programs and `folder`. Keep what is returned."""
    command = [sys.executable, "-m", "skillsv.sandbox.orphan_reaper", str(os.getpid()), str(folder)]
    warden = subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    warden.wait()  # it has left a child of its own on watch, which reads the same pipe
    return warden


def main(process: int, folder: Path) -> None:
    """Wait for the end of stdin, then clean up."""
    if os.fork():  # no child of the watched process any more, so that ending its children does not end the watch
        os._exit(0)
    sys.stdin.buffer.read()
    for _ in range(_ROUNDS):  # a process may fork between a look and the kill
        if not kill_marked(process):
            break
        time.sleep(_PAUSE)
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
