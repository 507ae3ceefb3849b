"""Runs coroutines of the API from plain functions, also where an event loop runs already, as in a notebook."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from skillsv.rollout import Stop

T = TypeVar("T")

WAIT_SECONDS = 0.5
"""How long the main thread waits at once: between two waits Ctrl-C is noticed."""


def run_sync(work: Callable[[Stop], Awaitable[T]]) -> T:
    """Run a coroutine to its end and return its result. Ctrl-C asks it to stop; finished rollouts are kept.

    While an event loop runs in this thread, the coroutine runs in a thread with a loop of its own.
    """
    stop = Stop()
    return _run_in_thread(work, stop) if _has_loop() else anyio.run(work, stop)


def _has_loop() -> bool:
    """Whether an event loop runs in this thread.

    The run must not begin inside the `except` clause: all its code would see this error as the one being handled.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_in_thread(work: Callable[[Stop], Awaitable[T]], stop: Stop) -> T:
    results: list[T] = []
    errors: list[BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []
    finished = threading.Event()

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        results.append(await work(stop))

    def target() -> None:
        try:
            anyio.run(run)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)
        finally:
            finished.set()

    def request_stop() -> None:
        if not loops:  # the run has not begun; it reads the request when it does
            stop.request()
        with contextlib.suppress(RuntimeError):  # the loop is closed: the run ended by itself
            for loop in loops:
                loop.call_soon_threadsafe(stop.request)

    threading.Thread(target=target, name="skillsv-run", daemon=True).start()
    _wait(finished, request_stop)
    if errors:
        raise errors[0]
    return results[0]


def _wait(finished: threading.Event, on_interrupt: Callable[[], None]) -> None:
    """Wait for the event; Ctrl-C calls `on_interrupt`. `Thread.join` would call the thread ended once interrupted."""
    while True:
        try:
            while not finished.wait(WAIT_SECONDS):
                pass
        except KeyboardInterrupt:
            on_interrupt()
        else:
            return
