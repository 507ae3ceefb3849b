"""Run one program to its end, or end it: with everything it started, within limits of time, output and memory."""

from __future__ import annotations

import errno
import functools
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from skillsv.sandbox.termination import MARK, end_everything, new_mark
from skillsv.sandbox.workspace import disk_trouble

_CHUNK = 65536
_ERROR_TAIL = 65536
_DRAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a program may use. None is no limit of our own (the machine's still hold).

    `output_bytes` is how much of its output is kept; the rest is read and dropped, so that a program that prints
    without end costs no memory. `grace` is the time between the request to stop (SIGTERM) and the end (SIGKILL).
    """

    seconds: float | None = 600.0
    output_bytes: int = 8 * 1024 * 1024
    memory_bytes: int | None = None
    file_bytes: int | None = None
    processes: int | None = None
    grace: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a program ended. `code` is negative for a signal; `stdout` is its beginning, `stderr` its end.

    `duration` comes from a monotonic clock: a wall clock that jumps does not change it.
    """

    code: int
    stdout: bytes
    stderr: bytes
    duration: float
    timed_out: bool = False
    truncated: bool = False


async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limits: Limits,
    stdin: bytes = b"",
) -> Completed:
    """Run `argv` (no shell) in `cwd` with exactly `env`; when this returns or is cancelled, nothing of it runs.

    The program leads a session of its own, so that all it starts is ended with it: when it exits, when its time is up,
    and when the caller is cancelled. Raises OSError where it cannot be started at all.
    """
    if shutil.which(argv[0], path=env.get("PATH", os.defpath)) is None:  # a prefix would only give an exit code
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    mark = new_mark()
    started = time.monotonic()
    process = await anyio.open_process(
        limited([*_dying_with_us(), *argv], limits),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**env, MARK: mark},
        start_new_session=True,
    )
    head, tail = _Head(limits.output_bytes), _Tail(min(_ERROR_TAIL, limits.output_bytes))
    try:
        timed_out = await _attend(process, mark=mark, stdin=stdin, head=head, tail=tail, limits=limits)
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return Completed(
        code=-1 if process.returncode is None else process.returncode,
        stdout=bytes(head.kept),
        stderr=bytes(tail.kept),
        duration=time.monotonic() - started,
        timed_out=timed_out,
        truncated=head.dropped,
    )


async def _attend(process: Process, *, mark: str, stdin: bytes, head: _Head, tail: _Tail, limits: Limits) -> bool:
    """Feed and read the program until it ends or its time is up, then end all of it. Returns whether time was up."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    async with anyio.create_task_group() as pipes:
        pipes.start_soon(_feed, process.stdin, stdin)
        pipes.start_soon(_read, process.stdout, head)
        pipes.start_soon(_read, process.stderr, tail)
        try:
            with anyio.move_on_after(limits.seconds) as clock:
                await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await end_everything(process, mark, limits.grace)
        # Everything that held the pipes is dead by now; a straggler we may not signal must not hold us up.
        pipes.cancel_scope.deadline = anyio.current_time() + _DRAIN_SECONDS
    return clock.cancelled_caught


def limited(argv: Sequence[str], limits: Limits) -> list[str]:
    """The command line behind a shell that sets the limits on memory, file size and processes first.

    A shell's `ulimit` applies before the program starts (no race) and needs no Python code between fork and exec, which
    could deadlock in a process with threads. The program's own words are passed as arguments, never parsed.
    """
    settings = []
    if limits.memory_bytes is not None:
        settings.append(f"ulimit -v {_allowed(resource.RLIMIT_AS, limits.memory_bytes) // 1024}")
    if limits.file_bytes is not None:
        settings.append(f"ulimit -f {_allowed(resource.RLIMIT_FSIZE, limits.file_bytes) // 512}")
    if limits.processes is not None:
        # dash calls the number of processes -p, bash and others -u
        count = _allowed(resource.RLIMIT_NPROC, limits.processes)
        settings.append(f"if (ulimit -u {count}) 2>/dev/null; then ulimit -u {count}; else ulimit -p {count}; fi")
    return ["/bin/sh", "-c", "; ".join([*settings, 'exec "$@"']), "sh", *argv] if settings else list(argv)


@functools.cache
def _dying_with_us() -> tuple[str, ...]:
    """A prefix that has the system kill the program when this process is killed outright (Linux, util-linux).

    Nobody is left then to end it in order, and a program that calls a model would go on spending.
    """
    setpriv = shutil.which("setpriv") if sys.platform.startswith("linux") else None
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()


def _allowed(which: int, wanted: int) -> int:
    """The limit, or the lower one that already holds: a limit cannot be raised, and trying would fail the program."""
    _, hard = resource.getrlimit(which)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


class _Head:
    """Keeps the beginning of a stream."""

    def __init__(self, limit: int) -> None:
        self.kept = bytearray()
        self.dropped = False
        self._limit = limit

    def add(self, data: bytes) -> None:
        room = self._limit - len(self.kept)
        self.kept += data[:room]
        self.dropped = self.dropped or len(data) > room


class _Tail:
    """Keeps the end of a stream."""

    def __init__(self, limit: int) -> None:
        self.kept = bytearray()
        self._limit = limit

    def add(self, data: bytes) -> None:
        self.kept += data
        if len(self.kept) > self._limit:
            del self.kept[: len(self.kept) - self._limit]


async def _read(stream: ByteReceiveStream, into: _Head | _Tail) -> None:
    try:
        while True:
            into.add(await stream.receive(_CHUNK))
    except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
        return


async def _feed(stream: ByteSendStream, data: bytes) -> None:
    """Write all of stdin; a program that does not read it is no error."""
    try:
        if data:
            await stream.send(data)
        await stream.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, BrokenPipeError, ConnectionResetError):
        return


# The environment a program of a rollout sees: declared names and private folders, nothing else of the user's.

_ALWAYS = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


def private_environment(workspace: Path, forward: Sequence[str] = ()) -> dict[str, str]:
    """PATH, the language, the `forward`ed names, and a HOME and TMPDIR inside the workspace (hidden folders there).

    Whoever forwards HOME (a coding agent that keeps its login there) gets the real one, with the skills in it.
    """
    private = {"HOME": workspace / ".home", "TMPDIR": workspace / ".tmp"}
    with disk_trouble(workspace):
        for folder in private.values():
            folder.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in (*_ALWAYS, *forward) if name in os.environ}
    return {"PATH": os.defpath, **{name: str(folder) for name, folder in private.items()}, **kept}
