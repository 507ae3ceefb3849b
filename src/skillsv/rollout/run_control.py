"""Settings of a runner, its clock, and requests to stop it (Ctrl-C once: finish what runs; twice: stop now)."""

from __future__ import annotations

import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

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
    """Stops a run from outside. `request()` once: start nothing new; twice: cancel what runs. Finished work is kept."""

    def __init__(self) -> None:
        self.level = 0
        self._callbacks: list[Callable[[int], None]] = []

    def request(self) -> None:
        """Ask the run to stop; the second time, to stop now."""
        self.level += 1
        for callback in tuple(self._callbacks):
            callback(self.level)

    def subscribe(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` with the level at each request. The returned function ends the subscription."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)


async def stop_on_signals(stop: Stop, *signals: signal.Signals) -> None:
    """Turn Ctrl-C (or the given signals) into requests to stop, until cancelled. Run it in a task beside the run."""
    with anyio.open_signal_receiver(*(signals or (signal.SIGINT, signal.SIGTERM))) as received:
        async for _ in received:
            stop.request()


async def stop_on_file(stop: Stop, path: Path, *, sleep: Callable[[float], Awaitable[None]] = anyio.sleep) -> None:
    """Turn a file that appears at `path` into a request to stop, and remove it. Run it in a task beside the run."""
    file = anyio.Path(path)
    await file.unlink(missing_ok=True)  # a request from before this run is not about it
    while True:
        await sleep(STOP_FILE_SECONDS)
        if await file.exists():
            await file.unlink(missing_ok=True)
            stop.request()
