"""Episodes of real games, each in a process of its own that stays warm for the next one.

    async with games.episode(file) as episode:
        scene = episode.scene
        while not episode.over:
            scene = await episode.act(scene.actions[0])

Starting such a process takes seconds, and so does the first reset of a game in it; the next reset takes milliseconds.
"""

from __future__ import annotations

import atexit
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
from anyio.lowlevel import RunVar

from skillsv.benchmarks.alfworld.paper import STEPS
from skillsv.benchmarks.alfworld.scene import Order, Scene
from skillsv.benchmarks.alfworld.verify import Result
from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.rollout import FailureKind

WORKER = (sys.executable, "-P", "-m", "skillsv.benchmarks.alfworld.worker")
PATIENCE = 120.0
"""Seconds that one step may take, a cold start on a busy machine included, before the process counts as hanging."""

_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "PYTHONPATH", "TMPDIR", "LD_LIBRARY_PATH")
_ALWAYS = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Games:
    """Plays any number of episodes, at most `slots` of them at once (None: as many as asked)."""

    def __init__(
        self, *, slots: int | None = None, program: Sequence[str] = WORKER, patience: float = PATIENCE
    ) -> None:
        self._slots = slots
        self._program = tuple(program)
        self._patience = patience
        self._idle: list[Worker] = []
        self._limiter: RunVar[anyio.CapacityLimiter] = RunVar("alfworld-slots")
        atexit.register(self.close)

    @asynccontextmanager
    async def episode(self, file: Path) -> AsyncIterator[Episode]:
        """One episode of the game in this file, from its beginning. Its process goes back to the others afterwards."""
        async with self._limit():
            worker = self._take(str(file))
            try:
                yield Episode(worker, await worker.ask(Order(game=str(file)), self._patience), self._patience)
            finally:
                if worker.usable:
                    self._idle.append(worker)

    def close(self) -> None:
        """End all processes that wait for a game."""
        while self._idle:
            self._idle.pop().end()

    def _limit(self) -> anyio.CapacityLimiter:
        """The slots of this event loop: a command may run several loops after each other."""
        try:
            return self._limiter.get()
        except LookupError:
            limiter = anyio.CapacityLimiter(self._slots or float("inf"))
            self._limiter.set(limiter)
            return limiter

    def _take(self, game: str) -> Worker:
        """A warm process, one that knows the game if there is one, else the one that knows fewest; else a new one."""
        self._idle = [worker for worker in self._idle if worker.usable]
        best = min(self._idle, key=lambda worker: (game not in worker.known, len(worker.known)), default=None)
        if best is None:
            return Worker(self._program)
        self._idle.remove(best)
        return best


class Episode:
    """One game in play. `scene` is what was seen last, `actions` is what was done so far."""

    def __init__(self, worker: Worker, first: Scene, patience: float) -> None:
        self._worker = worker
        self._patience = patience
        self.scene = first
        self.actions: list[str] = []

    @property
    def over(self) -> bool:
        """Whether the game is won, or all its steps are used."""
        return self.scene.won or len(self.actions) >= STEPS

    @property
    def result(self) -> Result:
        """How it stands: the answer of a rollout."""
        return Result(won=self.scene.won, steps=len(self.actions), actions=tuple(self.actions))

    async def act(self, action: str) -> Scene:
        """Do something, and see what comes of it. An action that is not admitted costs a step and changes nothing."""
        assert not self.over
        self.actions.append(action)
        self.scene = await self._worker.ask(Order(action=action), self._patience)
        return self.scene


class Worker:
    """A process that plays one game at a time. It ends when the pipe to it does, so also when this process is killed.

    It leads a process group of its own: an interrupt from the keyboard must not end games that are being finished.
    """

    def __init__(self, program: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process, and without a name
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={name: os.environ[name] for name in _KEPT if name in os.environ} | _ALWAYS,
            process_group=0,
        )
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

    async def ask(self, order: Order, seconds: float) -> Scene:
        """Give an order and wait for the scene. A process that dies or hangs is a failure, never a lost game.

        Whoever is cancelled while waiting leaves no process behind.
        """
        self._waiting = True
        line = b""
        try:
            with anyio.move_on_after(seconds) as clock:
                line = await anyio.to_thread.run_sync(self._exchange, order, abandon_on_cancel=True)
        finally:
            if not line.endswith(b"\n"):
                self.end()
        if clock.cancelled_caught:
            raise AgentFailure(f"a game did not answer within {seconds:g} s.", kind=FailureKind.TIMEOUT)
        if not line.endswith(b"\n"):
            raise AgentFailure(f"a game ended unexpectedly{self._last_words()}.", kind=FailureKind.CRASH)
        self._waiting = False
        if order.game is not None:
            self.known.add(order.game)
        return msgspec.json.decode(line, type=Scene)

    def end(self) -> None:
        """End the process. Its pipes are left to whoever still reads them: nothing more comes through."""
        self._process.kill()
        self._process.wait()

    def _exchange(self, order: Order) -> bytes:
        """One order, one line back; nothing where the process is dead or dies over it."""
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        try:
            into.write(msgspec.json.encode(order) + b"\n")
            into.flush()
        except BrokenPipeError:
            return b""
        return out.readline()

    def _last_words(self) -> str:
        """The last line of what it said to its standard error: usually the exception."""
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].decode("utf-8", errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {said}" if said else ""


def require_packages() -> None:
    """Raise SettingsError, with what to install, where the environment is not there."""
    if find_spec("textworld") is None or find_spec("fast_downward") is None or find_spec("alfworld") is None:
        raise SettingsError(
            "playing ALFWorld's games needs the packages alfworld and textworld.",
            hint="Install them: pip install 'skillsv[alfworld]' (builds a planner: about two minutes).",
        )


@functools.cache
def open_games() -> Games:
    """The games of this process for players that mostly wait, such as models: as many at once as there are rollouts."""
    require_packages()
    return Games()


@functools.cache
def scripted_games() -> Games:
    """The games of this process for players that answer at once: more of them at once than processors gain nothing."""
    require_packages()
    return Games(slots=os.cpu_count() or 1)
