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


_ROUNDS = 20


async def end_everything(process: Process, mark: str, grace: float) -> None:
    """Ask the program's group to stop, wait `grace` seconds for its leader, then kill whatever is left of it."""
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        with anyio.move_on_after(grace):
            await process.wait()
    _signal_group(process.pid, signal.SIGKILL)
    await anyio.to_thread.run_sync(_kill_marked, mark)
    if process.returncode is None:
        await process.wait()


def _signal_group(leader: int, number: signal.Signals) -> None:
    """Signal every process of the leader's group; an empty group is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _kill_marked(mark: str) -> None:
    """Kill what left the group; look again, because a process may fork between the look and the kill."""
    for _ in range(_ROUNDS):
        stragglers = _marked(mark)
        if not stragglers:
            return
        for straggler in stragglers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(straggler, signal.SIGKILL)


def _marked(mark: str) -> list[int]:
    """Processes that carry this mark in their environment (Linux; elsewhere the process group has to do)."""
    if not sys.platform.startswith("linux"):
        return []
    wanted = f"{MARK}={mark}".encode()
    return [int(entry.name) for entry in _processes() if wanted in _environment(entry).split(b"\0")]


def _processes() -> list[Path]:
    return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _environment(process: Path) -> bytes:
    """The environment a process was started with; nothing where it is gone or not ours."""
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
