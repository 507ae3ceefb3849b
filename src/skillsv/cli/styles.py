"""How a patch looks on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from skillsv.cli.printing import Line
from skillsv.report.patch import patch_lines
from skillsv.report.visible import visible


def styled_patch(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Iterator[Line]:
    """The lines of the patch, coloured by what they do, with nothing in them that a terminal would obey."""
    for line in patch_lines(old, new):
        text = line.removesuffix("\n")
        yield ((visible(text), _style(text)),)


def _style(line: str) -> str:
    if line.startswith(("---", "+++")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
