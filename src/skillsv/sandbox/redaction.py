"""Removes secrets from texts and from output streams, before they reach an answer, a transcript, an error or a log.

A secret is the value of an environment variable whose name suggests one (`OPENAI_API_KEY`), or of a variable that the
user forwarded (`remember_forwarded`), whatever its name. `redact` is the only implementation. The engine calls it for
all texts of agents and verifiers. Code that shortens a text calls it first: half of a key would not be recognised.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from skillsv.errors import SkillSVError

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)

SHORTEST_SECRET = 8
"""Characters. A shorter value is a word and not a key: replacing every `1` or `en` would destroy the text."""


_forwarded: dict[str, str] = {}
"""The variables that the user forwarded to agents of this process, with their values."""


def remember_forwarded(names: Iterable[str]) -> None:
    """Treat the values of these environment variables as secrets, whatever their names."""
    _forwarded.update({name: os.environ[name] for name in names if name in os.environ})


def redact(text: str, forwarded: Mapping[str, str] | None = None) -> str:
    """The text with every secret replaced by the name of its variable, in brackets.

    Secrets are the `forwarded` variables, those of `remember_forwarded`, and those of the environment whose names
    suggest a secret.
    """
    suspected = [(name, value) for name, value in os.environ.items() if _SECRET_NAME.search(name)]
    named = [*suspected, *_forwarded.items(), *(forwarded or {}).items()]
    stripped = [(value.strip(), name) for name, value in named]
    secrets = [(value, name) for value, name in stripped if len(value) >= SHORTEST_SECRET]
    for value, name in sorted(secrets, key=lambda secret: -len(secret[0])):  # a secret may contain a shorter one
        text = text.replace(value, f"[{name}]")
    return text


def redact_error(error: SkillSVError) -> None:
    """Remove secrets from the texts of an error."""
    error.what = redact(error.what)
    error.where = None if error.where is None else redact(error.where)
    error.hint = None if error.hint is None else redact(error.hint)
    error.args = tuple(redact(value) if isinstance(value, str) else value for value in error.args)


class RedactingStream(io.TextIOBase):
    """A text stream that redacts what is written to it, for workers whose output goes to the log of a cluster."""

    def __init__(self, stream: TextIO, forwarded: Mapping[str, str]) -> None:
        self._stream = stream
        self._forwarded = forwarded

    def write(self, text: str) -> int:
        """Write the text without secrets."""
        redacted = redact(text, self._forwarded)
        self._stream.write(redacted)
        return len(redacted)

    def flush(self) -> None:
        """Flush the stream behind this one."""
        self._stream.flush()

    def fileno(self) -> int:
        """The file number of the stream behind this one, for programs that are started with it."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Always False: a log is not a terminal."""
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
