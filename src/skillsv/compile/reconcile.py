"""Pass 4, reconciliation: open blocks where dependencies and contiguity contradict each other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import rustworkx

from skillsv.compile.draft import TRIGGER
from skillsv.compile.hierarchy import Node
from skillsv.model.skill import Block, Edge, Leaf, Repair

Arcs = dict[int, dict[int, set[str]]]
"""Q_h: from a prerequisite block to the blocks that need it, with the rules that say so."""


def reconcile(nodes: list[Node], edges: Sequence[Edge]) -> tuple[Block, tuple[Repair, ...]]:
    """The repaired hierarchy, whose every quotient graph Q_h is acyclic, and all expansions in the order made.

    `nodes` come from `document_tree`: children before parents, the root last.
    """
    leaf = {node.unit: index for index, node in enumerate(nodes) if node.unit is not None}
    crossing: dict[int, list[tuple[int, int, str]]] = {}
    for edge in edges:
        if edge.target != TRIGGER:  # m has no needs, so it is on no cycle
            below, above = leaf[edge.source], leaf[edge.target]
            crossing.setdefault(_meeting(nodes, below, above), []).append((below, above, edge.rule))
    repairs: list[Repair] = []
    for index, node in enumerate(nodes):
        if node.unit is None and index in crossing:
            repairs.extend(_open_conflicts(nodes, index, crossing))
    return _as_block(nodes), tuple(repairs)


def _open_conflicts(nodes: list[Node], index: int, crossing: dict[int, list[tuple[int, int, str]]]) -> Iterator[Repair]:
    """Expand the blocks on a witnessing cycle of Q_h until none is left. Descendant blocks stay as they are."""
    while True:
        arcs = _quotient(nodes, index, crossing[index])
        cycle = _witness(nodes, arcs)
        if not cycle:
            return
        assert any(nodes[block].unit is None for block in cycle), "units alone form no cycle: D is a DAG by now"
        rules = {rule for here, there in _steps(cycle) for rule in arcs[here][there]}
        names = tuple(nodes[block].name for block in cycle)
        for block in sorted(cycle, key=lambda one: nodes[one].place):
            if nodes[block].unit is None:
                yield Repair(
                    node=nodes[index].name, expanded=nodes[block].name, cycle=names, rules=tuple(sorted(rules))
                )
                _expand(nodes, index, block)
                crossing[index] = crossing[index] + crossing.pop(block, [])


def _expand(nodes: list[Node], index: int, block: int) -> None:
    place = nodes[index].children.index(block)
    children = nodes[block].children
    nodes[index].children[place : place + 1] = children
    for child in children:
        nodes[child].parent = index
    nodes[block].children = []


def _quotient(nodes: list[Node], index: int, edges: list[tuple[int, int, str]]) -> Arcs:
    arcs: Arcs = {}
    for below, above, rule in edges:
        here, there = _block_of(nodes, index, above), _block_of(nodes, index, below)
        if here != there:
            arcs.setdefault(here, {}).setdefault(there, set()).add(rule)
    return arcs


def _witness(nodes: list[Node], arcs: Arcs) -> list[int]:
    """A cycle through the smallest block that is on one, as short as can be; ties by document order. Empty: none."""
    touched = sorted({*arcs, *(there for heads in arcs.values() for there in heads)})
    number = {block: at for at, block in enumerate(touched)}
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(touched)
    graph.add_edges_from_no_data(
        [(number[here], number[there]) for here in touched for there in sorted(arcs.get(here, ()))]
    )
    knots = [part for part in rustworkx.strongly_connected_components(graph) if len(part) > 1]
    if not knots:
        return []
    inside = {touched[at] for part in knots for at in part}
    start = min(inside, key=lambda block: (nodes[block].size, nodes[block].place))
    return _shortest_cycle(nodes, arcs, start)


def _shortest_cycle(nodes: list[Node], arcs: Arcs, start: int) -> list[int]:
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for there in sorted(arcs.get(here, ()), key=lambda block: nodes[block].place):
            if there == start:
                path = [here]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if there not in came_from:
                came_from[there] = here
                queue.append(there)
    return []


def _steps(cycle: list[int]) -> Iterator[tuple[int, int]]:
    return zip(cycle, [*cycle[1:], cycle[0]], strict=True)


def _block_of(nodes: list[Node], index: int, leaf: int) -> int:
    """The child block of node `index` that holds the leaf."""
    here = leaf
    while nodes[here].parent != index:
        parent = nodes[here].parent
        assert parent is not None
        here = parent
    return here


def _meeting(nodes: list[Node], one: int, other: int) -> int:
    """The lowest node above both leaves."""
    above = set()
    node: int | None = one
    while node is not None:
        above.add(node)
        node = nodes[node].parent
    node = other
    while node not in above:
        assert node is not None
        node = nodes[node].parent
    return node


def _as_block(nodes: list[Node]) -> Block:
    made: dict[int, Block | Leaf] = {}
    for index, node in enumerate(nodes):
        if node.unit is not None:
            made[index] = Leaf(node.unit)
        elif node.children:
            made[index] = Block(node.name, tuple(made.pop(child) for child in node.children))
    root = made[len(nodes) - 1]
    return root if isinstance(root, Block) else Block(nodes[-1].name, (root,))
