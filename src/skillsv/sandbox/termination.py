"""End a program with everything it started, even what forked, ignores SIGTERM or left the process group."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import uuid

import anyio
import anyio.to_thread
from anyio.abc import Process

MARK = "SKILLSV_ROLLOUT"
"""Environment variable that all descendants of one program share: it finds those that left its process group."""

_ROUNDS = 100
_PAUSE = 0.02


def new_mark() -> str:
    """A mark for one program; it begins with the process that starts it."""
    return f"{os.getpid()}-{uuid.uuid4().hex}"


def kill_marked(starter: int) -> bool:
    """Kill every process whose mark says that `starter` started it; whether there was any. Linux only."""
    if not sys.platform.startswith("linux"):
        return False
    wanted = f"{MARK}={starter}-".encode()
    running = frozenset(
        int(number)
        for number in filter(str.isdigit, os.listdir("/proc"))  # noqa: PTH208 - names will do
        if wanted in _proc(number, "environ") and _status(number)[0] not in _ENDED
    )
    return bool(_kill(running))


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
    return _kill(_running(leader, mark, known))


def _kill(running: frozenset[int]) -> frozenset[int]:
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
    wanted = f"{MARK}={mark}\0".encode()
    found = set()
    for number in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - once per rollout, so names will do
        state, group, session = _status(number)
        if state in _ENDED:
            continue
        if leader in {group, session} or int(number) in known or wanted in _proc(number, "environ"):
            found.add(int(number))
    return frozenset(found)


_ENDED = {b"Z", b"X", b""}
"""States of a process that has ended: it waits to be collected, is being removed, or is not there."""


def _status(process: str) -> tuple[bytes, int, int]:
    """State, process group and session of a process; its name, which stands before them, may hold anything."""
    fields = _proc(process, "stat").rpartition(b")")[2].split(maxsplit=4)
    return (fields[0], int(fields[2]), int(fields[3])) if len(fields) > 4 else (b"", 0, 0)


def _proc(process: str, what: str) -> bytes:
    """What the system says of a process; nothing where it is gone or not ours to ask."""
    try:
        with open(f"/proc/{process}/{what}", "rb", buffering=0) as stream:  # noqa: PTH123 - as above
            return stream.readall()
    except OSError:
        return b""
