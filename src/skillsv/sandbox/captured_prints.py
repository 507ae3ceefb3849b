"""Collects what a function of the user prints, so that it does not mix with the result and does not reach the terminal.

Several functions run at the same time, in threads and coroutines. `sys.stdout` and `sys.stderr` are replaced while at
least one of them runs; each write goes to the collector of the context that writes, or to the real stream where there
is none. While a log is open (`log_prints`), all that is collected goes to it, too, and so does what threads of such
functions write. What a program that a function starts writes to the stdout that it inherits is not seen here.
"""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

from skillsv.sandbox.redaction import redact

MOST_CHARACTERS = 200_000
"""Characters that are kept of one function's output."""

LOG_CHARACTERS = 64_000_000
"""Characters after which a log is not continued: a function may print without end."""

_collector: ContextVar[list[str] | None] = ContextVar("skillsv_printed_text", default=None)
_lock = threading.Lock()

_STREAMS = ("stdout", "stderr")
"""The streams of `sys` that are collected. An agent may print what a model answered: with escape sequences."""


class _Log:
    """The log of this process. Before it is opened, what was collected waits for it, up to `MOST_CHARACTERS`."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._waiting: list[str] = []
        self._left = LOG_CHARACTERS

    def open(self, path: Path | None) -> None:
        with _lock:
            self.path = path
            waiting = "".join(self._waiting)
            self._waiting.clear()
        if waiting and path is not None:
            self.add("", waiting)

    def add(self, label: str, text: str) -> None:
        """Append a text. A log that cannot be written ends no run."""
        entry = f"== {label}\n{text.rstrip()}\n" if label else text
        with _lock, contextlib.suppress(OSError):
            if self.path is None:
                if sum(map(len, self._waiting)) < MOST_CHARACTERS:
                    self._waiting.append(entry[:MOST_CHARACTERS])
            elif self._left > 0:
                self._left -= len(entry)
                with self.path.open("a", encoding="utf-8", errors="replace") as file:
                    file.write(redact(entry))


_log = _Log()


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
            if _log.path is None or threading.current_thread() is threading.main_thread():
                return self.real.write(text)
            _log.add("", text)
            return len(text)
        if sum(map(len, parts)) < MOST_CHARACTERS:
            parts.append(text[:MOST_CHARACTERS])
        return len(text)

    def flush(self) -> None:
        if _collector.get() is None:
            self.real.flush()


@contextmanager
def capture_prints(label: str = "") -> Iterator[list[str]]:
    """Collect the text that the code of this context, and of threads that copy it, prints, in the order of time.

    With a `label` the text also goes to the log, under this heading, whether the code succeeds or fails.
    """
    parts: list[str] = []
    routers = [_install(name) for name in _STREAMS]
    token = _collector.set(parts)
    try:
        yield parts
    finally:
        _collector.reset(token)
        for name, router in zip(_STREAMS, routers, strict=True):
            _remove(name, router)
        if label and parts:
            _log.add(label, "".join(parts))


@contextmanager
def log_prints(path: Path) -> Iterator[None]:
    """Write what functions of the user print to this file, which is made when the first of them prints."""
    router = _install("stdout")
    previous = _log.path
    _log.open(path)
    try:
        yield
    finally:
        _log.open(previous)
        _remove("stdout", router)


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
