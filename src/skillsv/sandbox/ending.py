"""End a program with everything it started, even what forked, ignores SIGTERM or left the process group."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import Process

MARK = "SKILLSV_ROLLOUT"
"""Environment variable that all descendants of one program share: it finds those that left its process group."""

_ROUNDS = 100
_PAUSE = 0.02


async def end_everything(process: Process, mark: str, grace: float) -> None:
    """Ask the program's group to stop, wait `grace` seconds for its leader, then kill what is left until it is gone.

    Killing takes effect a little later, and a process may fork between a look and the kill: hence the rounds. They end
    after two seconds at the latest; what survives that hangs in the kernel (a dead network drive) and cannot be ended.
    """
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        with anyio.move_on_after(grace):
            await process.wait()
    left: frozenset[int] = frozenset()
    for _ in range(_ROUNDS):
        _signal_group(process.pid, signal.SIGKILL)
        left = await anyio.to_thread.run_sync(_killed, process.pid, mark, left)
        if not left:
            break
        await anyio.sleep(_PAUSE)
    if process.returncode is None:
        await process.wait()


def _signal_group(leader: int, number: signal.Signals) -> None:
    """Signal every process of the leader's group; an empty group is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _killed(leader: int, mark: str, known: frozenset[int]) -> frozenset[int]:
    """Kill all that still runs of a program, and return what that was."""
    running = _running(leader, mark, known)
    for process in running:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
    return running


def _running(leader: int, mark: str, known: frozenset[int]) -> frozenset[int]:
    """Processes of the leader's group or session, those that carry the mark, and those `known` from an earlier look.

    Linux only; elsewhere signalling the process group has to do.
    """
    if not sys.platform.startswith("linux"):
        return frozenset()
    wanted = f"{MARK}={mark}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            state, group, session = _status(entry)
            ours = leader in {group, session} or int(entry.name) in known or wanted in _environment(entry)
            if state not in _ENDED and ours:
                found.add(int(entry.name))
    return frozenset(found)


_ENDED = {"Z", "X", ""}
"""States of a process that has ended: it waits to be collected, is being removed, or is not there."""


def _status(process: Path) -> tuple[str, int, int]:
    """State, process group and session from `/proc/PID/stat`; the name before them may hold spaces and brackets."""
    try:
        fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[2]), int(fields[3])
    except (OSError, IndexError):
        return "", 0, 0


def _environment(process: Path) -> list[bytes]:
    """The environment a process was started with; nothing where it is gone or not ours."""
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
