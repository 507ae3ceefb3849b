"""An extension of griffe, which reads docstrings: examples become fenced code, as the site needs them."""

from __future__ import annotations

from typing import Any

import griffe


class DoctestFences(griffe.Extension):
    """Put fences around examples: lines from `>>>` to a blank line, and lines with an indent of four spaces."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object."""
        if obj.docstring is not None:
            obj.docstring.value = fence(obj.docstring.value)


def fence(text: str) -> str:
    """The docstring with fences."""
    lines: list[str] = []
    closing = ""
    for line in [*text.split("\n"), ""]:
        blank = not line.strip()
        if closing == "doctest" and blank:
            lines.append("```")
            closing = ""
        elif closing == "indented" and not blank and not line.startswith("    "):
            while not lines[-1].strip():
                lines.pop()
            lines += ["```", ""]
            closing = ""
        if not closing and line.startswith(">>>"):
            lines.append("```pycon")
            closing = "doctest"
        elif not closing and line.startswith("    ") and (not lines or not lines[-1].strip()):
            lines.append("```python")
            closing = "indented"
        lines.append(line.removeprefix("    ") if closing == "indented" else line.replace("<BLANKLINE>", ""))
    return "\n".join([*lines, "```"] if closing else lines)
