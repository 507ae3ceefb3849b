"""Searches a text for a regular expression. It is also a program, which can be ended when a search takes too long.

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
    request = json.load(sys.stdin)
    sys.stdout.write("1" if matches(request["pattern"], request["text"]) else "0")
