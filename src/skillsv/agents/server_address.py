"""The address of a model server that a user names: it must hold no secret, because the run folder records it."""

from __future__ import annotations

import re
import urllib.parse

from skillsv.errors import SettingsError

_ESCAPES = re.compile(r"%[0-9A-Fa-f]{2}")
"""Escaped characters in a path."""


def check_url(url: str) -> str:
    """The address of a server. Raises SettingsError if it holds a secret: the run folder records the address."""
    hint = "Write http://127.0.0.1:8321/v1."
    try:
        parts = urllib.parse.urlsplit(url)
        _ = parts.port  # raises ValueError for a port that is no number
    except ValueError as error:
        raise SettingsError(f"the base URL is not the address of a server: {error}.", hint=hint) from None
    usable = parts.scheme in {"http", "https"} and parts.hostname and _ESCAPES.sub("", url).isprintable()
    if not usable or "%" in _ESCAPES.sub("", parts.path) or "%" in (parts.hostname or ""):
        raise SettingsError(f"`{_remove_secrets(parts)}` is not the address of a server.", hint=hint)
    # A `#` alone is refused, too: everything after it, also the path of a request, would be no part of the address.
    if parts.username or parts.password or parts.query or "#" in url or "?" in url:
        raise SettingsError(
            f"the base URL of {parts.hostname} holds more than an address.",
            hint="Keys come from the environment (OPENAI_API_KEY), never from a flag.",
        )
    return url.rstrip("/")


def _remove_secrets(parts: urllib.parse.SplitResult) -> str:
    """The address without user, password and query."""
    host = parts.netloc.rpartition("@")[2]
    return urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))
