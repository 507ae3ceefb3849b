"""Search a text for a pattern. Also a program of its own, so that a search that never ends can be stopped from outside.

As a program it reads `{"pattern", "text"}` from stdin and prints 1 or 0. It imports nothing of this package.
"""

from __future__ import annotations

import json
import re
import sys


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern occurs anywhere in the text."""
    return re.search(pattern, text) is not None


if __name__ == "__main__":
    question = json.load(sys.stdin)
    sys.stdout.write("1" if matches(question["pattern"], question["text"]) else "0")
