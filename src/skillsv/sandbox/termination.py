"""Ends a program with all its descendants, even those that ignore SIGTERM or have left the process group.

Descendants are found by what they inherit: process group, session, an environment variable, and a mark. The mark is a
value of the limit on file locks, which no Linux kernel since 2.4 reads. Every child inherits it, also one that starts a
session of its own with an empty environment, and daemons do not change it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import shutil
import signal
import sys
import uuid

import anyio
import anyio.to_thread
from anyio.abc import Process

ROLLOUT_VARIABLE = "SKILLSV_ROLLOUT"
"""Environment variable that all descendants of a program inherit. It identifies those that left its process group."""

_LOCKS_LIMIT = 10
"""The number of RLIMIT_LOCKS on Linux; Python has no name for it."""

_MARK_BITS = 36
"""Random bits of a mark. The process that starts the program is in the bits above them."""

_MARK_LINE = b"\nMax file locks"
"""The beginning of the line in /proc/PID/limits that shows the mark."""

KILL_ROUNDS = 100
"""How often processes are listed and killed before the rest is given up."""

KILL_PAUSE = 0.02
"""Seconds between two rounds; 100 rounds take about two seconds."""

_ENDED_STATES = {b"Z", b"X", b""}
"""States in /proc of a process that has ended: a zombie, a process that is being removed, or no process."""


def new_rollout_id() -> str:
    """A value of `ROLLOUT_VARIABLE` for one program. It begins with the id of the process that starts the program."""
    return f"{os.getpid()}-{uuid.uuid4().hex}"


def mark_of(rollout_id: str) -> int:
    """The mark of a program: the id of the process that starts it, and a part of the random rest of its rollout id."""
    starter, _, random = rollout_id.partition("-")
    return int(starter) << _MARK_BITS | int(random, 16) >> (4 * len(random) - _MARK_BITS)


def mark_command(rollout_id: str) -> tuple[str, ...]:
    """The beginning of a command line that marks the program and its descendants.

    Empty where that is impossible: without Linux and util-linux, or in a program that is marked itself, which may only
    lower the limit.
    """
    prlimit = _find_prlimit()
    if prlimit is None:
        return ()
    _, hard = resource.getrlimit(_LOCKS_LIMIT)
    mark = mark_of(rollout_id)
    return (prlimit, f"--locks={mark}:{mark}", "--") if hard in {resource.RLIM_INFINITY, mark} else ()


@functools.cache
def _find_prlimit() -> str | None:
    return shutil.which("prlimit") if sys.platform.startswith("linux") else None


def kill_programs_of(starter: int) -> bool:
    """Kill every program that the process `starter` has started, with all descendants. Linux only.

    Returns whether there was a process to kill.
    """
    if not sys.platform.startswith("linux"):
        return False
    entry = f"{ROLLOUT_VARIABLE}={starter}-".encode()
    running = frozenset(
        int(number)
        for number in filter(str.isdigit, os.listdir("/proc"))  # noqa: PTH208 - names are enough
        if (entry in _read_proc(number, "environ") or _mark(number) >> _MARK_BITS == starter)
        and _status(number)[0] not in _ENDED_STATES
    )
    _kill(running)
    return bool(running)


async def end_program(process: Process, rollout_id: str, grace: float) -> None:
    """Ask the program's process group to stop, wait `grace` seconds for its leader, then kill all that still runs.

    Killing is repeated, because it takes effect with a delay and a process may fork in the meantime. It stops after
    about two seconds: a process that survives so long hangs in the kernel (for example on a network drive that does not
    answer) and cannot be ended.
    """
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        with anyio.move_on_after(grace):
            await process.wait()
    running: frozenset[int] = frozenset()
    for _ in range(KILL_ROUNDS):
        _signal_group(process.pid, signal.SIGKILL)
        running = await anyio.to_thread.run_sync(_kill_running, process.pid, rollout_id, running)
        if not running:
            break
        await anyio.sleep(KILL_PAUSE)
    if process.returncode is None:
        await process.wait()


def _signal_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to every process of the leader's group. An empty group is not an error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _kill_running(leader: int, rollout_id: str, known: frozenset[int]) -> frozenset[int]:
    """Kill all processes of a program that still run, and return them."""
    running = _list_running(leader, rollout_id, known)
    _kill(running)
    return running


def _kill(processes: frozenset[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def _list_running(leader: int, rollout_id: str, known: frozenset[int]) -> frozenset[int]:
    """Processes of the leader's group or session, those with its id or mark, and those `known` from the last round.

    Linux only. On other systems, only the process group is ended.
    """
    if not sys.platform.startswith("linux"):
        return frozenset()
    entry, mark = f"{ROLLOUT_VARIABLE}={rollout_id}\0".encode(), mark_of(rollout_id)
    running = set()
    for number in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - names are enough, and once per rollout
        state, group, session = _status(number)
        if state in _ENDED_STATES:
            continue
        related = leader in {group, session} or int(number) in known
        if related or entry in _read_proc(number, "environ") or _mark(number) == mark:
            running.add(int(number))
    return frozenset(running)


def _status(process: str) -> tuple[bytes, int, int]:
    """State, process group and session of a process.

    They follow the process name, which is in parentheses and may itself contain parentheses and spaces.
    """
    fields = _read_proc(process, "stat").rpartition(b")")[2].split(maxsplit=4)
    return (fields[0], int(fields[2]), int(fields[3])) if len(fields) > 4 else (b"", 0, 0)


def _mark(process: str) -> int:
    """The mark of a process; 0 if it has none or has ended."""
    limits = _read_proc(process, "limits").partition(_MARK_LINE)[2].split(maxsplit=1)
    return int(limits[0]) if limits and limits[0].isdigit() else 0


def _read_proc(process: str, name: str) -> bytes:
    """A file of the process in /proc; empty if the process has ended or belongs to another user."""
    try:
        with open(f"/proc/{process}/{name}", "rb", buffering=0) as stream:  # noqa: PTH123 - faster, once per process
            return stream.readall()
    except OSError:
        return b""
