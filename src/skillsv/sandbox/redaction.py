"""Keys never leave this process in a text: not in an answer, not in a transcript, not in an error."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from typing import Any, TextIO

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST = 8


def redact(text: str) -> str:
    """The text, with the value of every variable of the environment that sounds like a secret replaced by its name."""
    named = ((name, value.strip()) for name, value in os.environ.items() if _SECRET.search(name))
    secrets = [(value, name) for name, value in named if len(value) >= _SHORTEST]
    for value, name in sorted(secrets, key=lambda secret: -len(secret[0])):  # a key may contain another one
        text = text.replace(value, f"[{name}]")
    return text


# A stream that never shows a secret: what a worker prints ends up in the cluster's log files.

SHORTEST = 8
"""Values shorter than this are words, not keys; hiding `1` or `en` would garble everything."""


class RedactingStream(io.TextIOBase):
    """Writes to another stream, with the values of forwarded variables replaced by their names."""

    def __init__(self, stream: TextIO, secrets: Mapping[str, str]) -> None:
        self._stream = stream
        self._names = {value: f"[{name}]" for name, value in secrets.items() if len(value) >= SHORTEST}

    def write(self, text: str) -> int:
        """Write the text without secrets."""
        for value, name in self._names.items():
            text = text.replace(value, name)
        self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Pass on what is held back."""
        self._stream.flush()

    def fileno(self) -> int:
        """The file behind the stream, for programs that are started with it."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """A log is no terminal."""
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
