"""R10 INSIDE: a unit inside a reference file needs the only unit that leads a reader to the file.

It is not in the paper, where every auxiliary file is one unit. There a pointer needs its file. Here the file is there,
empty, with any unit that points to it, so the units inside can come after the pointer and have a value of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.compiler.draft import Draft, make_edge
from skillsv.model.skill import Edge


def find_inside_edges(draft: Draft) -> Iterator[Edge]:
    """Edges from every unit inside a file to the one unit that points to it. Several pointers give no edge."""
    for unit in draft.body:
        pointers = draft.pointers.get(unit.file, ())
        if len(pointers) == 1 and pointers[0].id != unit.id:
            yield make_edge("R10", unit, pointers[0], f"only {pointers[0].location()} leads to {unit.file}")
