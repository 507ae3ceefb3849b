"""The process that plays games, as its parent sees it, and the messages between them: one line of JSON each."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Protocol

import anyio
import anyio.to_thread
import msgspec

from skillsv.errors import AgentFailure
from skillsv.model.rollout import FailureKind

NO_EFFECT = "look"
"""The action that changes nothing."""


class Scene(msgspec.Struct, frozen=True):
    """What a player sees: the environment's words, the actions it admits now, whether the game is won."""

    observation: str
    actions: tuple[str, ...] = ()
    won: bool = False


class PlayCommand(msgspec.Struct, frozen=True, omit_defaults=True):
    """Start this game from its beginning (None: go on with the one in play), and take these actions."""

    game: str | None = None
    actions: tuple[str, ...] = ()


class Player(Protocol):
    """Plays one game at a time. Whatever it raises ends its process."""

    def start(self, game: str) -> Scene:
        """The first scene of the game in this file."""

    def act(self, action: str) -> Scene:
        """The scene after this action."""


WORKER = (sys.executable, "-P", "-m", "skillsv_bench.alfworld.worker")
"""The command that starts a process."""

_INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "PYTHONPATH", "TMPDIR", "LD_LIBRARY_PATH")
"""Environment variables that a process inherits."""

_ALWAYS = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Environment variables that every process has: a fixed hash seed, and one thread."""


class Worker:
    """A process that plays one game at a time. It ends when the pipe to it does, so also when this process is killed.

    It leads a process group of its own: an interrupt from the keyboard must not end games that are being finished.
    """

    def __init__(self, program: Sequence[str], timeout: float) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process, and without a name
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={name: os.environ[name] for name in _INHERITED if name in os.environ} | _ALWAYS,
            process_group=0,
        )
        self._timeout = timeout
        self._waiting = False
        self.known: set[str] = set()

    @property
    def usable(self) -> bool:
        """Whether it can play: alive, and not in the middle of an answer that nobody waits for any more."""
        return not self._waiting and self._process.poll() is None

    @property
    def process_id(self) -> int:
        """The number of the process."""
        return self._process.pid

    async def ask(self, command: PlayCommand) -> Scene:
        """Send a command and wait for the scene. A process that dies or hangs is a failure, never a lost game.

        Cancelling the wait ends the process.
        """
        self._waiting = True
        line = b""
        try:
            with anyio.move_on_after(self._timeout) as clock:
                line = await anyio.to_thread.run_sync(self._exchange, command, abandon_on_cancel=True)
        finally:
            if not line.endswith(b"\n"):
                self.end()
        if clock.cancelled_caught:
            raise AgentFailure(f"a game did not answer within {self._timeout:g} s.", kind=FailureKind.TIMEOUT)
        if not line.endswith(b"\n"):
            raise AgentFailure(f"a game ended unexpectedly{self._last_error_line()}.", kind=FailureKind.CRASH)
        self._waiting = False
        if command.game is not None:
            self.known.add(command.game)
        return msgspec.json.decode(line, type=Scene)

    def end(self) -> None:
        """End the process. Its pipes are left to whoever still reads them: nothing more comes through."""
        self._process.kill()
        self._process.wait()

    def _exchange(self, command: PlayCommand) -> bytes:
        """Send one command and read one line; empty if the process has ended or ends now."""
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        try:
            into.write(msgspec.json.encode(command) + b"\n")
            into.flush()
        except BrokenPipeError:
            return b""
        return out.readline()

    def _last_error_line(self) -> str:
        """Return the last line of its standard error, usually the exception."""
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].decode("utf-8", errors="replace").split("\n")
        last_line = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {last_line}" if last_line else ""
