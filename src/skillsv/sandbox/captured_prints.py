"""Collects what a function of the user prints, so that it does not mix with the result and does not reach the terminal.

Several functions run at the same time, in threads and coroutines. `sys.stdout` and `sys.stderr` are replaced while at
least one of them runs; each write goes to the collector of the context that writes, or to the real stream where there
is none.
"""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

MOST_CHARACTERS = 200_000
"""Characters that are kept of one function's output."""

_collector: ContextVar[list[str] | None] = ContextVar("skillsv_printed_text", default=None)
_lock = threading.Lock()

_STREAMS = ("stdout", "stderr")
"""The streams of `sys` that are collected. An agent may print what a model answered: with escape sequences."""


class _Router(io.TextIOBase):
    """A stream that gives each context its own text."""

    def __init__(self, real: TextIO) -> None:
        self.real = real
        self.users = 0

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.real.encoding

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return _collector.get() is None and self.real.isatty()

    def fileno(self) -> int:
        return self.real.fileno()

    def write(self, text: str) -> int:
        parts = _collector.get()
        if parts is None:
            return self.real.write(text)
        if sum(map(len, parts)) < MOST_CHARACTERS:
            parts.append(text[:MOST_CHARACTERS])
        return len(text)

    def flush(self) -> None:
        if _collector.get() is None:
            self.real.flush()


@contextmanager
def capture_prints() -> Iterator[list[str]]:
    """Collect the text that the code of this context, and of threads that copy it, prints, in the order of time."""
    parts: list[str] = []
    routers = [_install(name) for name in _STREAMS]
    token = _collector.set(parts)
    try:
        yield parts
    finally:
        _collector.reset(token)
        for name, router in zip(_STREAMS, routers, strict=True):
            _remove(name, router)


def _install(name: str) -> _Router:
    with _lock:
        current = getattr(sys, name)
        router = current if isinstance(current, _Router) else _Router(current)
        router.users += 1
        setattr(sys, name, router)
        return router


def _remove(name: str, router: _Router) -> None:
    with _lock:
        router.users -= 1
        if router.users == 0 and getattr(sys, name) is router:
            setattr(sys, name, router.real)
