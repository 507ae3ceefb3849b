"""Regions that an optimizer rewrites as a whole, found by their marker lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillsv.compile.blocks import TopBlock
from skillsv.model.skill import Finding, Severity


@dataclass(frozen=True, slots=True)
class Region:
    """The positions, in the list of blocks, of the two marker lines; `name` is the opening marker's words."""

    opening: int
    closing: int
    name: str


def find_regions(
    blocks: Sequence[TopBlock], lines: Sequence[str], pairs: Sequence[tuple[str, str]], file: str
) -> tuple[list[Region], list[Finding]]:
    """Pairs of markers, each alone on its line. A marker without its partner, or inside another region, is content."""
    ends = dict(pairs)
    words = {word for pair in pairs for word in pair}
    marks = [
        (index, lines[block.first].rstrip(" \t"))
        for index, block in enumerate(blocks)
        if block.form == "html" and block.stop == block.first + 1 and lines[block.first].rstrip(" \t") in words
    ]
    last = {word: index for index, word in marks}
    regions: list[Region] = []
    odd: list[Finding] = []
    opened: tuple[int, str] | None = None
    for index, word in marks:
        if opened and word == ends[opened[1]]:
            regions.append(Region(opened[0], index, opened[1].strip("<>!- ")))
            opened = None
        elif opened is None and last.get(ends.get(word, ""), -1) > index:
            opened = (index, word)
        else:
            odd.append(_orphan(word, file, blocks[index].first + 1, inside=opened is not None))
    return regions, odd


def _orphan(word: str, file: str, line: int, *, inside: bool) -> Finding:
    why = "stands inside another region" if inside else "has no partner"
    return Finding(
        code="orphan-marker",
        severity=Severity.WARNING,
        message=f"The marker {word} {why}, so it is read as ordinary content. Remove it, or complete the pair.",
        file=file,
        line=line,
    )
