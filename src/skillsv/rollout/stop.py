"""Stopping a run from outside: once to finish what is in flight, twice to stop now."""

from __future__ import annotations

import signal
from collections.abc import Callable

import anyio


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
