"""Pass 4: the hierarchy H over units, and its repair where dependencies contradict it.

`document_tree` builds H from the sections. `reconcile` expands blocks of H until, at every node, the children can be
ordered so that each comes after what it needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import rustworkx

from skillsv.compiler.draft import TRIGGER
from skillsv.model.skill import Block, Edge, Leaf, Repair, Section

Arcs = dict[int, dict[int, set[str]]]
"""The quotient graph Q_h of a node: from a child block to the child blocks that need it, with the rules involved."""


@dataclass(slots=True, kw_only=True)
class Node:
    """A block of the tree, or a leaf with its unit. `size` counts the units below; `position` orders the blocks."""

    name: str
    position: int
    unit: str | None = None
    size: int = 1
    parent: int | None = None
    children: list[int] = field(default_factory=list)


def document_tree(sections: Sequence[Section], units: Sequence[str], section_of: Mapping[str, int]) -> list[Node]:
    """The tree as a list of nodes: every child before its parent, the root last.

    Sections without units do not appear. A section with a single child has nothing to keep together: it does not
    become a node, and its title is put before the child's name.
    """
    direct: list[list[int]] = [[] for _ in sections]
    nodes = [Node(name=unit, position=position, unit=unit) for position, unit in enumerate(units)]
    for index, unit in enumerate(units):
        direct[section_of[unit]].append(index)
    for index in range(len(sections) - 1, -1, -1):
        children = sorted(direct[index], key=lambda child: nodes[child].position)
        parent = sections[index].parent
        if not children:
            continue
        if len(children) == 1 and parent is not None:
            child_node = nodes[children[0]]
            if child_node.unit is None:
                child_node.name = f"{sections[index].title} / {child_node.name}"
            direct[parent].append(children[0])
            continue
        size = sum(nodes[child].size for child in children)
        position = nodes[children[0]].position
        nodes.append(Node(name=sections[index].title, position=position, size=size, children=children))
        for child in children:
            nodes[child].parent = len(nodes) - 1
        if parent is not None:
            direct[parent].append(len(nodes) - 1)
    return nodes


def reconcile(nodes: list[Node], edges: Sequence[Edge]) -> tuple[Block, tuple[Repair, ...]]:
    """The repaired hierarchy, whose every quotient graph Q_h is acyclic, and all expansions in the order made.

    `nodes` come from `document_tree`, and are changed in place.
    """
    leaf = {node.unit: index for index, node in enumerate(nodes) if node.unit is not None}
    # The edges between two children of a node, by node: (leaf that needs, leaf that is needed, rule).
    edges_at: dict[int, list[tuple[int, int, str]]] = {}
    for edge in edges:
        if edge.target != TRIGGER:  # m needs nothing, so it is on no cycle
            source, target = leaf[edge.source], leaf[edge.target]
            edges_at.setdefault(_lowest_common_node(nodes, source, target), []).append((source, target, edge.rule))
    repairs: list[Repair] = []
    for index, node in enumerate(nodes):
        if node.unit is None and index in edges_at:
            repairs.extend(_expand_conflicts(nodes, index, edges_at))
    return _as_block(nodes), tuple(repairs)


def _expand_conflicts(
    nodes: list[Node], index: int, edges_at: dict[int, list[tuple[int, int, str]]]
) -> Iterator[Repair]:
    """Expand the blocks on a witness cycle of Q_h until there is none. Blocks below them stay as they are."""
    while True:
        arcs = _quotient(nodes, index, edges_at[index])
        cycle = _witness_cycle(nodes, arcs)
        if not cycle:
            return
        assert any(nodes[block].unit is None for block in cycle), "units alone form no cycle: D is a DAG after pass 3"
        rules = {rule for source, target in _steps(cycle) for rule in arcs[source][target]}
        names = tuple(nodes[block].name for block in cycle)
        for block in sorted(cycle, key=lambda child: nodes[child].position):
            if nodes[block].unit is None:
                yield Repair(
                    node=nodes[index].name, expanded=nodes[block].name, cycle=names, rules=tuple(sorted(rules))
                )
                _expand(nodes, index, block)
                edges_at[index] = edges_at[index] + edges_at.pop(block, [])


def _expand(nodes: list[Node], index: int, block: int) -> None:
    """Put the children of a block in its place."""
    place = nodes[index].children.index(block)
    children = nodes[block].children
    nodes[index].children[place : place + 1] = children
    for child in children:
        nodes[child].parent = index
    nodes[block].children = []


def _quotient(nodes: list[Node], index: int, edges: list[tuple[int, int, str]]) -> Arcs:
    arcs: Arcs = {}
    for source, target, rule in edges:
        needed, needing = _child_with(nodes, index, target), _child_with(nodes, index, source)
        if needed != needing:
            arcs.setdefault(needed, {}).setdefault(needing, set()).add(rule)
    return arcs


def _witness_cycle(nodes: list[Node], arcs: Arcs) -> list[int]:
    """The shortest cycle through the smallest block that is on one; ties by document order. Empty: no cycle."""
    blocks = sorted({*arcs, *(needing for heads in arcs.values() for needing in heads)})
    number = {block: position for position, block in enumerate(blocks)}
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(blocks)
    graph.add_edges_from_no_data(
        [(number[needed], number[needing]) for needed in blocks for needing in sorted(arcs.get(needed, ()))]
    )
    components = [part for part in rustworkx.strongly_connected_components(graph) if len(part) > 1]
    if not components:
        return []
    on_cycle = {blocks[position] for part in components for position in part}
    start = min(on_cycle, key=lambda block: (nodes[block].size, nodes[block].position))
    return _shortest_cycle(nodes, arcs, start)


def _shortest_cycle(nodes: list[Node], arcs: Arcs, start: int) -> list[int]:
    """The shortest cycle through `start`, by breadth-first search."""
    previous: dict[int, int] = {}
    queue = deque([start])
    while queue:
        block = queue.popleft()
        for following in sorted(arcs.get(block, ()), key=lambda child: nodes[child].position):
            if following == start:
                path = [block]
                while path[-1] != start:
                    path.append(previous[path[-1]])
                return path[::-1]
            if following not in previous:
                previous[following] = block
                queue.append(following)
    return []


def _steps(cycle: list[int]) -> Iterator[tuple[int, int]]:
    return zip(cycle, [*cycle[1:], cycle[0]], strict=True)


def _child_with(nodes: list[Node], index: int, leaf: int) -> int:
    """The child of node `index` that contains the leaf."""
    child = leaf
    while nodes[child].parent != index:
        parent = nodes[child].parent
        assert parent is not None
        child = parent
    return child


def _lowest_common_node(nodes: list[Node], first: int, second: int) -> int:
    """The lowest node above both leaves."""
    ancestors = set()
    node: int | None = first
    while node is not None:
        ancestors.add(node)
        node = nodes[node].parent
    node = second
    while node not in ancestors:
        assert node is not None
        node = nodes[node].parent
    return node


def _as_block(nodes: list[Node]) -> Block:
    built: dict[int, Block | Leaf] = {}
    for index, node in enumerate(nodes):
        if node.unit is not None:
            built[index] = Leaf(node.unit)
        elif node.children:
            built[index] = Block(node.name, tuple(built.pop(child) for child in node.children))
    root = built[len(nodes) - 1]
    return root if isinstance(root, Block) else Block(nodes[-1].name, (root,))
