"""Episodes of real games, each in its own process, which is reused for the next episode.

    async with games.episode(file) as episode:
        while not episode.over:
            await episode.act(episode.scene.actions[0])

Starting such a process takes seconds, and so does the first reset of a game in it; the next reset takes milliseconds.
A game gives the same scenes for the same actions, so scenes are cached, and an episode needs a process only from the
first action on that no episode has taken before.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import anyio
from anyio.lowlevel import RunVar, checkpoint

from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.rollout import FailureKind
from skillsv_bench.alfworld.process import WORKER, PlayCommand, Scene, Worker
from skillsv_bench.alfworld.tasks import STEPS, Result

ANSWER_TIMEOUT = 120.0
"""Seconds that one answer may take, a cold start on a busy machine included, before the process counts as hanging."""

MAX_CACHED_SCENES = 50_000
"""The largest number of cached scenes, at about a kilobyte each."""


class Games:
    """Plays any number of episodes, in at most `slots` processes at once (None: as many as asked)."""

    def __init__(
        self,
        *,
        slots: int | None = None,
        program: Sequence[str] = WORKER,
        timeout: float = ANSWER_TIMEOUT,
        cached_scenes: int = MAX_CACHED_SCENES,
    ) -> None:
        self._slots = slots
        self._program = tuple(program)
        self._timeout = timeout
        self._room = cached_scenes
        self._beginnings: dict[tuple[str, int, int], _GameState] = {}
        self._idle: list[Worker] = []
        self._limiter: RunVar[anyio.CapacityLimiter] = RunVar("alfworld-slots")
        atexit.register(self.close)

    @asynccontextmanager
    async def episode(self, file: Path) -> AsyncIterator[Episode]:
        """One episode of the game in this file, from its beginning."""
        process = _EpisodeProcess(self, str(file))
        try:
            yield Episode(process, await self._beginning(file, process))
        finally:
            process.leave()

    def close(self) -> None:
        """End all processes that wait for a game."""
        while self._idle:
            self._idle.pop().end()

    async def _beginning(self, file: Path, process: _EpisodeProcess) -> _GameState:
        """How the game in this file begins; a file that was changed is another game."""
        key = _version(file)
        if key not in self._beginnings:
            self._beginnings[key] = _GameState(await process.play(()))
        return self._beginnings[key]

    def remember(self, before: _GameState, action: str, after: _GameState) -> None:
        """Cache the state after an action, as long as there is room."""
        if self._room > 0:
            self._room -= 1
            before.after[action] = after

    async def take(self, game: str, owner: object) -> Worker:
        """A warm process, one that knows the game if there is one, else the one that knows fewest; else a new one."""
        await self._limit().acquire_on_behalf_of(owner)
        try:
            return self._warm(game) or Worker(self._program, self._timeout)
        except OSError as error:
            self._limit().release_on_behalf_of(owner)
            raise AgentFailure(f"a game cannot be started: {error.strerror}.", kind=FailureKind.CRASH) from error

    def _warm(self, game: str) -> Worker | None:
        self._idle = [worker for worker in self._idle if worker.usable]
        best = min(self._idle, key=lambda worker: (game not in worker.known, len(worker.known)), default=None)
        if best is not None:
            self._idle.remove(best)
        return best

    def give_back(self, worker: Worker, owner: object) -> None:
        """Keep a process for the next episode, unless it has ended or still computes an answer."""
        if worker.usable:
            self._idle.append(worker)
        self._limit().release_on_behalf_of(owner)

    def _limit(self) -> anyio.CapacityLimiter:
        """The slots of this event loop: a command may run several loops after each other."""
        try:
            return self._limiter.get()
        except LookupError:
            limiter = anyio.CapacityLimiter(self._slots or float("inf"))
            self._limiter.set(limiter)
            return limiter


def _version(file: Path) -> tuple[str, int, int]:
    status = file.stat()
    return str(file), status.st_mtime_ns, status.st_size


class _GameState:
    """A state of a game: its scene, and the next state for each action that was taken from it."""

    __slots__ = ("after", "scene")

    def __init__(self, scene: Scene) -> None:
        self.scene = Scene(scene.observation, tuple(map(sys.intern, scene.actions)), scene.won)
        self.after: dict[str, _GameState] = {}


class _EpisodeProcess:
    """The process of an episode: taken when needed, brought to the episode's state, given back at the end."""

    def __init__(self, games: Games, game: str) -> None:
        self._games = games
        self._game = game
        self._worker: Worker | None = None
        self._played = 0

    async def play(self, actions: Sequence[str]) -> Scene:
        """The scene after all these actions; those that the process did already are not done again."""
        if self._worker is None:
            self._worker = await self._games.take(self._game, self)
            command = PlayCommand(game=self._game, actions=tuple(actions))
        else:
            command = PlayCommand(actions=tuple(actions[self._played :]))
        self._played = len(actions)
        return await self._worker.ask(command)

    def remember(self, before: _GameState, action: str, after: _GameState) -> None:
        """Cache the state after an action for other episodes."""
        self._games.remember(before, action, after)

    def leave(self) -> None:
        """Give the process back, if one was taken."""
        if self._worker is not None:
            self._games.give_back(self._worker, self)


class Episode:
    """One game in play. `actions` is what was done so far."""

    def __init__(self, process: _EpisodeProcess, beginning: _GameState) -> None:
        self._process = process
        self._state = beginning
        self.actions: list[str] = []

    @property
    def scene(self) -> Scene:
        """What was seen last."""
        return self._state.scene

    @property
    def over(self) -> bool:
        """Whether the game is won, or all its steps are used."""
        return self.scene.won or len(self.actions) >= STEPS

    @property
    def result(self) -> Result:
        """The result so far, which is the answer of a rollout."""
        return Result(won=self.scene.won, steps=len(self.actions), actions=tuple(self.actions))

    async def act(self, action: str) -> Scene:
        """Take an action and return the new scene. An action that is not admitted costs a step and changes nothing."""
        assert not self.over
        self.actions.append(action)
        known = self._state.after.get(action)
        if known is None:
            known = _GameState(await self._process.play(self.actions))
            self._process.remember(self._state, action, known)
        else:
            await checkpoint()
        self._state = known
        return self.scene


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
