"""Runs coroutines of the API from plain functions, also where an event loop runs already, as in a notebook."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from skillsv.rollout import Stop

T = TypeVar("T")

JOIN_SECONDS = 0.5
"""How long the main thread waits at once: between two waits Ctrl-C is noticed."""


def run_sync(work: Callable[[Stop], Awaitable[T]]) -> T:
    """Run a coroutine to its end and return its result. Ctrl-C asks it to stop; finished rollouts are kept.

    While an event loop runs in this thread, the coroutine runs in a thread with a loop of its own.
    """
    stop = Stop()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.run(work, stop)
    return _run_in_thread(work, stop)


def _run_in_thread(work: Callable[[Stop], Awaitable[T]], stop: Stop) -> T:
    results: list[T] = []
    errors: list[BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        results.append(await work(stop))

    def target() -> None:
        try:
            anyio.run(run)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=target, name="skillsv-run", daemon=True)
    thread.start()
    while thread.is_alive():
        try:
            thread.join(JOIN_SECONDS)
        except KeyboardInterrupt:
            for loop in loops:
                loop.call_soon_threadsafe(stop.request)
    if errors:
        raise errors[0]
    return results[0]
