"""H: the document tree over units, before any repair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillsv.model.skill import Section


@dataclass(slots=True, kw_only=True)
class Node:
    """A block of the tree, or a leaf when it carries a unit. `size` counts the units below, `place` orders blocks."""

    name: str
    place: int
    unit: str | None = None
    size: int = 1
    parent: int | None = None
    children: list[int] = field(default_factory=list)


def document_tree(sections: Sequence[Section], units: Sequence[str], home: Mapping[str, int]) -> list[Node]:
    """Nodes with the root last and every child before its parent.

    Sections without units do not appear, and a section with a single child is that child under a longer name: it has
    nothing of its own to keep together.
    """
    direct: list[list[int]] = [[] for _ in sections]
    nodes = [Node(name=unit, place=place, unit=unit) for place, unit in enumerate(units)]
    for index, unit in enumerate(units):
        direct[home[unit]].append(index)
    for index in range(len(sections) - 1, -1, -1):
        found = sorted(direct[index], key=lambda child: nodes[child].place)
        parent = sections[index].parent
        if not found:
            continue
        if len(found) == 1 and parent is not None:
            only = nodes[found[0]]
            if only.unit is None:
                only.name = f"{sections[index].title} / {only.name}"
            direct[parent].append(found[0])
            continue
        size = sum(nodes[child].size for child in found)
        nodes.append(Node(name=sections[index].title, place=nodes[found[0]].place, size=size, children=found))
        for child in found:
            nodes[child].parent = len(nodes) - 1
        if parent is not None:
            direct[parent].append(len(nodes) - 1)
    return nodes
