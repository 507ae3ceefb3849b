"""R4 DEF-USE: a unit that uses a symbol needs the unit that defines it."""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.compile.draft import Draft
from skillsv.model.skill import Edge


def def_use(draft: Draft) -> Iterator[Edge]:
    """Edges from uses in code and inline code to definitions in code blocks and code files."""
    yield from ()
