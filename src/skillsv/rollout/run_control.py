"""Settings of a runner, its clock, and requests to stop it (Ctrl-C once: finish what runs; twice: stop now)."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import anyio

from skillsv.errors import SettingsError
from skillsv.rollout.stop_rules import Never, StopRule

STOP_FILE_SECONDS = 0.5
"""Seconds between two looks for a file that asks the run to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """Concurrency, retries and limits of a run.

    `attempts` and `timeout` (seconds) are per rollout; the wait between attempts doubles from `backoff` up to
    `longest_wait` (seconds). The run ends if more than the share `max_missing` of at least `judge_missing_after`
    rollouts has no score, or if none of the first `max_failures_at_start` has one. At most `per_minute` rollouts start
    in a minute, wherever they run; fewer while `provider` refuses, which all runs of this process with that name share.
    `run` names the run in the ledger. `renderings` is how many rendered skills stay in
    memory. `needs_cost`: only money limits the run, so a rollout that does not report its cost ends it. `score_cut`:
    answers that the token limit cut are scored; otherwise they are missing.
    """

    jobs: int = 8
    attempts: int = 5
    timeout: float | None = 600.0
    per_minute: float | None = None
    provider: str = ""
    backoff: float = 1.0
    longest_wait: float = 60.0
    budget: StopRule = field(default_factory=Never)
    max_missing: float = 0.2
    judge_missing_after: int = 20
    max_failures_at_start: int = 5
    seed: int = 0
    run: str = ""
    renderings: int = 256
    needs_cost: bool = False
    score_cut: bool = False

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise SettingsError(f"{self.jobs} jobs cannot run anything.", hint="Use --jobs 1 or more.")
        if self.attempts < 1:
            raise SettingsError("a rollout needs at least one attempt.", hint="Use --attempts 1 or more.")
        if self.timeout is not None and self.timeout <= 0:
            raise SettingsError(f"a timeout of {self.timeout:g} s leaves no time.", hint="Use --timeout 600, say.")
        if self.per_minute is not None and self.per_minute <= 0:
            raise SettingsError("no rollout could ever start.", hint="Use --max-per-minute 60, say.")
        if not 0.0 <= self.max_missing <= 1.0:
            raise SettingsError(f"the share {self.max_missing:g} is not between 0 and 1.", hint="0.2 is usual.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The source of time, which tests replace. The clock counts seconds from any start."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


class Stop:
    """Stops a run from outside. `request()` once: start nothing new; twice: cancel what runs. Finished work is kept.

    A command has one, for all its sessions. `reads_files`: requests from before the command are removed already.
    """

    def __init__(self) -> None:
        self.level = 0
        self.reads_files = False
        self._callbacks: list[Callable[[int], None]] = []

    def request(self) -> None:
        """Ask the run to stop; the second time, to stop now."""
        self.level += 1
        for callback in tuple(self._callbacks):
            callback(self.level)

    @property
    def has_subscribers(self) -> bool:
        """Whether something runs that requests reach."""
        return bool(self._callbacks)

    def subscribe(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` with the level at each request. The returned function ends the subscription."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)


@contextmanager
def stop_on_signals(stop: Stop | None, *signals: signal.Signals) -> Iterator[None]:
    """Turn Ctrl-C (or the given signals) into requests to stop. Open it where an event loop runs.

    Rollouts that run receive each request. Between two sessions the first one is remembered, and the next session ends
    at once with `Interrupted`; the second raises KeyboardInterrupt. It may be nested: at its end the handlers from
    before are back. Without a `stop`, and outside the main thread, it does nothing.
    """
    if stop is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def receive(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.has_subscribers:
            loop.call_soon_threadsafe(stop.request)  # a callback must not run in the middle of other code
        elif stop.level:
            raise KeyboardInterrupt
        else:
            stop.request()

    before = {one: signal.signal(one, receive) for one in signals or (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, signal.SIG_DFL if handler is None else handler)


def read_stop_files(stop: Stop, paths: Iterable[Path]) -> None:
    """Turn files at these paths into one request to stop, and remove them.

    At the first look of a command they are requests from before it, and only removed.
    """
    found = [path for path in paths if path.exists()]
    for path in found:
        path.unlink(missing_ok=True)
    if found and stop.reads_files:
        stop.request()
    stop.reads_files = True


async def stop_on_file(
    stop: Stop, find: Callable[[], Iterable[Path]], *, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
) -> None:
    """Look for files that ask the run to stop, until cancelled. Run it in a task beside the run."""
    while True:
        await sleep(STOP_FILE_SECONDS)
        read_stop_files(stop, find())
