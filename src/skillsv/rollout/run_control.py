"""How a run behaves: how fast and how far it gets, and which answers count."""

from __future__ import annotations

import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from skillsv.errors import SettingsError
from skillsv.rollout.stop_rules import Limit, Unlimited


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """Concurrency, patience and limits of a run.

    `attempts` and `timeout` (seconds) are per rollout; the wait between attempts doubles from `backoff` up to
    `longest_wait`. More than `max_missing` of at least `judged_after` rollouts without a score, or the first
    `hopeless_after` all without one, end the run. `run` names it in the ledger; `renderings` are kept in memory. At
    most `per_minute` rollouts start in a minute, wherever they run. `needs_cost`: only money limits the run, so that a
    rollout that does not report its cost ends it. `score_cut`: answers that the token limit cut are scored; otherwise
    they are missing.
    """

    jobs: int = 8
    attempts: int = 5
    timeout: float | None = 600.0
    per_minute: float | None = None
    backoff: float = 1.0
    longest_wait: float = 60.0
    budget: Limit = field(default_factory=Unlimited)
    max_missing: float = 0.2
    judged_after: int = 20
    hopeless_after: int = 5
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
    """Where time comes from, so that a test can bring its own. The clock counts seconds from anywhere."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


# Stopping a run from outside: once to finish what is in flight, twice to stop now.


class Stop:
    """A request to stop. `request()` once: start nothing new; twice: cancel what runs. Everything finished is kept."""

    def __init__(self) -> None:
        self.level = 0
        self._followers: list[Callable[[int], None]] = []

    def request(self) -> None:
        """Ask to stop, or, asked again, to stop now."""
        self.level += 1
        for follower in tuple(self._followers):
            follower(self.level)

    def follow(self, follower: Callable[[int], None]) -> Callable[[], None]:
        """Call `follower` with the level at each request; the returned function ends that."""
        self._followers.append(follower)
        return lambda: self._followers.remove(follower)


async def stop_on_signals(stop: Stop, *signals: signal.Signals) -> None:
    """Turn Ctrl-C (or the given signals) into requests to stop, until cancelled. Start it beside the run."""
    with anyio.open_signal_receiver(*(signals or (signal.SIGINT, signal.SIGTERM))) as received:
        async for _ in received:
            stop.request()
