"""Runs one program, with all its descendants, within limits of time, output and memory."""

from __future__ import annotations

import errno
import functools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from skillsv.sandbox.folder_quota import FolderQuota
from skillsv.sandbox.left_folders import folder_prefix
from skillsv.sandbox.termination import ROLLOUT_VARIABLE, end_program, mark_command, new_rollout_id
from skillsv.sandbox.workspace import convert_disk_errors

_CHUNK = 65536
"""Bytes that are read from a pipe at once: the size of a pipe's buffer on Linux."""

_ERROR_TAIL = 65536
"""Bytes of stderr that are kept, from its end: error messages are there."""

_STDERR_FACTOR = 16
"""Stderr may be so many times as long as stdout before it ends the program: logs go there, only their end is kept."""

_DRAIN_SECONDS = 1.0
"""Wait for the last output after the program was ended."""

_FORWARDED_ALWAYS = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""Environment variables that every program receives: where programs are, the language, the time zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a program may use. None: no limit besides those of the machine.

    `output_bytes` is how much of its output is kept; the rest is read and dropped, so that endless output fills no
    memory. With `stop_at_output` the program is ended at that limit, and where its stderr is 16 times as long. Lines of
    stdout that begin with `dropped_lines` are neither kept nor counted. `folder` is what the working folder may hold.
    `grace` is the number of seconds between the request to stop (SIGTERM) and the kill (SIGKILL).
    """

    seconds: float | None = 600.0
    output_bytes: int = 8 * 1024 * 1024
    stop_at_output: bool = False
    dropped_lines: bytes = b""
    memory_bytes: int | None = None
    file_bytes: int | None = None
    processes: int | None = None
    folder: FolderQuota | None = None
    grace: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """How a program ended. `code` is negative for a signal. `stdout` is the beginning of long output, `stderr` the end.

    `duration` (seconds) comes from a monotonic clock: a change of the system time does not affect it. `over_quota` says
    how the working folder exceeded its quota, after which the program was ended.
    """

    code: int
    stdout: bytes
    stderr: bytes
    duration: float
    timed_out: bool = False
    truncated: bool = False
    over_quota: str | None = None


async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limits: Limits,
    stdin: bytes = b"",
    files: Sequence[int] = (),
) -> ProgramResult:
    """Run `argv` (without a shell) in `cwd` with exactly the environment `env`; `files` stay open in it.

    The program leads its own session. Its descendants are ended with it: when it exits, when its time is up, and when
    the caller is cancelled. So no process of it runs when this function returns. Raises OSError if the program cannot
    be started.
    """
    # Checked here because the program is started through others (sh, setpriv), which would only give an exit code.
    if shutil.which(argv[0], path=env.get("PATH", os.defpath)) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    rollout_id = new_rollout_id()
    started = time.monotonic()
    process = await anyio.open_process(
        limit_command([*mark_command(rollout_id), *_killed_with_parent(), *argv], limits),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**env, ROLLOUT_VARIABLE: rollout_id},
        start_new_session=True,
        pass_fds=files,
    )
    head = _Head(limits.output_bytes, limits.dropped_lines)
    tail = _Tail(min(_ERROR_TAIL, limits.output_bytes), _STDERR_FACTOR * limits.output_bytes)
    try:
        watch = _Watch(cwd, limits, (head.exceeded, tail.exceeded) if limits.stop_at_output else ())
        await _communicate(process, rollout_id, stdin=stdin, head=head, tail=tail, watch=watch)
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return ProgramResult(
        code=-1 if process.returncode is None else process.returncode,
        stdout=head.text(),
        stderr=bytes(tail.data),
        duration=time.monotonic() - started,
        timed_out=watch.timed_out,
        truncated=head.exceeded.is_set() or watch.too_much_output,
        over_quota=watch.over_quota,
    )


def limit_command(argv: Sequence[str], limits: Limits) -> list[str]:
    """The command line, started by a shell that first sets the limits on memory, file size and processes.

    The shell's `ulimit` applies before the program starts and needs no Python code between fork and exec, which could
    deadlock in a process with threads. The words of `argv` are passed as arguments; the shell does not parse them.
    """
    settings = []
    if limits.memory_bytes is not None:
        settings.append(f"ulimit -v {_lower_limit(resource.RLIMIT_AS, limits.memory_bytes) // 1024}")
    if limits.file_bytes is not None:
        settings.append(f"ulimit -f {_lower_limit(resource.RLIMIT_FSIZE, limits.file_bytes) // 512}")
    if limits.processes is not None:
        # dash calls the number of processes -p, bash and others -u
        count = _lower_limit(resource.RLIMIT_NPROC, limits.processes)
        settings.append(f"if (ulimit -u {count}) 2>/dev/null; then ulimit -u {count}; else ulimit -p {count}; fi")
    return ["/bin/sh", "-c", "; ".join([*settings, 'exec "$@"']), "sh", *argv] if settings else list(argv)


def private_environment(parent: Path, forward: Sequence[str] = ()) -> dict[str, str]:
    """The environment of a program of a rollout: PATH, language, the variables in `forward`, private HOME and TMPDIR.

    HOME and TMPDIR are hidden folders in `parent`: the workspace for an agent, a folder of its own for a verifier,
    which must not use what the agent wrote. If `forward` contains HOME (a coding agent may keep its login
    there), the program sees the user's real home, with the skills that are installed in it.
    """
    private = {"HOME": parent / ".home", "TMPDIR": parent / ".tmp"}
    with convert_disk_errors(parent):
        for folder in private.values():
            folder.mkdir(exist_ok=True)
    forwarded = {name: os.environ[name] for name in (*_FORWARDED_ALWAYS, *forward) if name in os.environ}
    return {"PATH": os.defpath, **{name: str(folder) for name, folder in private.items()}, **forwarded}


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder outside all workspaces, for one program. It is removed at the end."""
    with tempfile.TemporaryDirectory(prefix=f"{folder_prefix()}private-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


async def _communicate(
    process: Process, rollout_id: str, *, stdin: bytes, head: _Head, tail: _Tail, watch: _Watch
) -> None:
    """Write stdin and read the output until the program ends or reaches a limit, then end its descendants."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    async with anyio.create_task_group() as pipes:
        pipes.start_soon(_feed, process.stdin, stdin)
        pipes.start_soon(_read, process.stdout, head)
        pipes.start_soon(_read, process.stderr, tail)
        try:
            await watch.wait_for(process)
        finally:
            with anyio.CancelScope(shield=True):
                await end_program(process, rollout_id, watch.limits.grace)
        # A process that may not be signalled could still hold a pipe open: do not wait for it without a limit.
        pipes.cancel_scope.deadline = anyio.current_time() + _DRAIN_SECONDS


class _Watch:
    """Waits for the end of a program, or until it reaches its limit of time or output, or the quota of its folder."""

    def __init__(self, folder: Path, limits: Limits, exceeded: Sequence[anyio.Event] = ()) -> None:
        self.limits = limits
        self.timed_out = False
        self.too_much_output = False
        self.over_quota: str | None = None
        self._folder = folder
        self._exceeded = exceeded

    async def wait_for(self, process: Process) -> None:
        with anyio.move_on_after(self.limits.seconds) as clock:
            async with anyio.create_task_group() as group:
                if self.limits.folder is not None:
                    group.start_soon(self._check_quota, self.limits.folder, group.cancel_scope)
                for event in self._exceeded:
                    group.start_soon(self._wait_for_output, event, group.cancel_scope)
                await process.wait()
                group.cancel_scope.cancel()
        self.timed_out = clock.cancelled_caught
        if self.over_quota is None and self.limits.folder is not None:
            # A program that ended between two checks is checked, too.
            self.over_quota = await anyio.to_thread.run_sync(self.limits.folder.problem, self._folder)

    async def _check_quota(self, quota: FolderQuota, scope: anyio.CancelScope) -> None:
        self.over_quota = await quota.wait_until_exceeded(self._folder)
        scope.cancel()

    async def _wait_for_output(self, exceeded: anyio.Event, scope: anyio.CancelScope) -> None:
        await exceeded.wait()
        self.too_much_output = True
        scope.cancel()


@functools.cache
def _killed_with_parent() -> tuple[str, ...]:
    """The beginning of a command line with which the system kills the program when this process is killed.

    Without it, a program that calls a model would continue to spend money. Linux with util-linux only.
    """
    setpriv = shutil.which("setpriv") if sys.platform.startswith("linux") else None
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()


def _lower_limit(kind: int, limit: int) -> int:
    """The limit, lowered to the hard limit of this process: the shell cannot raise it and would fail."""
    _, hard = resource.getrlimit(kind)
    return limit if hard == resource.RLIM_INFINITY else min(limit, hard)


class _Head:
    """The beginning of a stream, up to `limit` bytes, without the lines that begin with `dropped_lines`."""

    def __init__(self, limit: int, dropped_lines: bytes = b"") -> None:
        self.exceeded = anyio.Event()
        self._data = bytearray()
        self._limit = limit
        self._dropped_lines = dropped_lines
        self._start: bytes | None = b""  # of the current line, while it may still be one of the dropped lines
        self._dropping = False

    def add(self, chunk: bytes) -> None:
        if not self._dropped_lines:
            self._keep(chunk)
            return
        *lines, rest = chunk.split(b"\n")
        for part in (*(line + b"\n" for line in lines), rest):
            self._add_part(part)

    def text(self) -> bytes:
        """What was kept, at the end of the stream."""
        self._keep(self._start or b"")
        self._start = None
        return bytes(self._data)

    def _add_part(self, part: bytes) -> None:
        """Add a line or a part of one."""
        if self._start is not None:
            part = self._start + part
            if len(part) < len(self._dropped_lines) and self._dropped_lines.startswith(part):
                self._start = part
                return
            self._start = None
            self._dropping = part.startswith(self._dropped_lines)
        if not self._dropping:
            self._keep(part)
        if part.endswith(b"\n"):
            self._start = b""

    def _keep(self, part: bytes) -> None:
        room = self._limit - len(self._data)
        self._data += part[:room]
        if len(part) > room:
            self.exceeded.set()


class _Tail:
    """The end of a stream, the last `limit` bytes. `exceeded` is set after `longest` bytes."""

    def __init__(self, limit: int, longest: int) -> None:
        self.data = bytearray()
        self.exceeded = anyio.Event()
        self._limit = limit
        self._left = longest

    def add(self, chunk: bytes) -> None:
        self.data += chunk
        self._left -= len(chunk)
        if self._left < 0:
            self.exceeded.set()
        if len(self.data) > self._limit:
            del self.data[: len(self.data) - self._limit]


async def _read(stream: ByteReceiveStream, output: _Head | _Tail) -> None:
    try:
        while True:
            output.add(await stream.receive(_CHUNK))
    except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
        return


async def _feed(stream: ByteSendStream, data: bytes) -> None:
    """Write all of stdin. A program that does not read its stdin is not an error."""
    try:
        if data:
            await stream.send(data)
        await stream.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, BrokenPipeError, ConnectionResetError):
        return
