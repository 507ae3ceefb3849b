"""The pages of the documentation, and their fenced blocks."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

BLOCK = re.compile(
    r"^(?P<indent> *)(?:<!-- needs: (?P<needs>[^>]+) -->\n *)?```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)

WALKTHROUGH = re.compile(r"<!-- the walkthrough begins -->.*<!-- the walkthrough ends -->", re.DOTALL)
"""What `examples/walkthrough` prints; `tests/test_walkthrough.py` runs it."""


class Block(NamedTuple):
    """A fenced block: its language, its text, and what the marker above it says that it needs."""

    language: str
    body: str
    needs: str


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks_of(page):
    text = WALKTHROUGH.sub("", page.read_text(encoding="utf-8"))
    return [
        Block(
            found["language"],
            re.sub(f"^{found['indent']}", "", found["body"], flags=re.MULTILINE),
            found["needs"] or "",
        )
        for found in BLOCK.finditer(text)
    ]
