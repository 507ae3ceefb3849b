"""Collects what a function of the user prints, so that it does not mix with the result on stdout.

Several functions run at the same time, in threads and coroutines. `sys.stdout` is replaced while at least one of them
runs; each write goes to the collector of the context that writes, or to the real stdout where there is none.
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


class _Router(io.TextIOBase):
    """A stdout that gives each context its own text."""

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
    """Collect the text that the code of this context, and of threads that copy it, writes to stdout."""
    parts: list[str] = []
    router = _install()
    token = _collector.set(parts)
    try:
        yield parts
    finally:
        _collector.reset(token)
        _remove(router)


def _install() -> _Router:
    with _lock:
        current = sys.stdout
        router = current if isinstance(current, _Router) else _Router(current)
        router.users += 1
        sys.stdout = router
        return router


def _remove(router: _Router) -> None:
    with _lock:
        router.users -= 1
        if router.users == 0 and sys.stdout is router:
            sys.stdout = router.real
