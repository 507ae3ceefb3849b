"""Keys never leave this process in a text: not in an answer, not in a transcript, not in an error."""

from __future__ import annotations

import os
import re

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST = 8


def redacted(text: str) -> str:
    """The text, with the value of every variable of the environment that sounds like a secret replaced by its name."""
    named = ((name, value.strip()) for name, value in os.environ.items() if _SECRET.search(name))
    secrets = [(value, name) for name, value in named if len(value) >= _SHORTEST]
    for value, name in sorted(secrets, key=lambda secret: -len(secret[0])):  # a key may contain another one
        text = text.replace(value, f"[{name}]")
    return text
