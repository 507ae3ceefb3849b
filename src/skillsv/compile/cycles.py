"""Pass 3, normalization: every dependency cycle becomes one composite unit, so that D is a DAG."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import rustworkx

from skillsv.compile.draft import TRIGGER, Draft, DraftUnit
from skillsv.compile.hierarchy import Node
from skillsv.compile.names import Names
from skillsv.model.skill import Block, Contraction, Edge, Extent, Layout, Leaf, Repair, Unit, UnitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized:
    """Units and edges after contraction. `home` is the section each unit hangs under."""

    units: tuple[Unit, ...]
    edges: tuple[Edge, ...]
    home: Mapping[str, int]
    contractions: tuple[Contraction, ...]
    layouts: tuple[Layout, ...]


def normalize(draft: Draft, edges: Sequence[Edge]) -> Normalized:
    """Contract the strongly connected components; members are recorded, because contraction loses resolution."""
    cycles = _cycles(draft, edges)
    titles = _all_titles(draft)
    if not cycles:
        return Normalized(
            units=tuple(_unit(draft, titles, (unit,)) for unit in draft.units),
            edges=tuple(edges),
            home={unit.id: unit.section for unit in draft.units},
            contractions=(),
            layouts=draft.layouts,
        )
    names = Names(*(unit.id for unit in draft.units))
    merged = {members: names.composite(tuple(member.id for member in members)) for members in cycles}
    new_id = {member.id: name for members, name in merged.items() for member in members}
    groups = {members[0].id: members for members in cycles}
    kept = [unit for unit in draft.units if unit.id not in new_id or unit.id in groups]
    members_of = [groups.get(unit.id, (unit,)) for unit in kept]
    return Normalized(
        units=tuple(_unit(draft, titles, members, merged.get(members)) for members in members_of),
        edges=_contracted(edges, new_id),
        home={merged.get(members, members[0].id): _common_section(draft, members) for members in members_of},
        contractions=tuple(_contraction(name, members, edges) for members, name in merged.items()),
        layouts=tuple(_renamed(layout, new_id) for layout in draft.layouts),
    )


def _cycles(draft: Draft, edges: Sequence[Edge]) -> list[tuple[DraftUnit, ...]]:
    """Groups of units that need each other, in document order. No edge leaves m, so it is in none."""
    place = {unit.id: unit.place for unit in draft.units}
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(draft.units)))
    graph.add_edges_from_no_data([(place[edge.source], place[edge.target]) for edge in edges if edge.target != TRIGGER])
    components = [sorted(part) for part in rustworkx.strongly_connected_components(graph) if len(part) > 1]
    return [tuple(draft.units[index] for index in part) for part in sorted(components)]


def _unit(
    draft: Draft, titles: Sequence[tuple[str, ...]], members: tuple[DraftUnit, ...], name: str | None = None
) -> Unit:
    first = members[0]
    extents = tuple(Extent(file=unit.file, span=unit.span, lines=unit.lines) for unit in members)
    if name is None:
        return Unit(
            id=first.id,
            kind=first.kind,
            form=first.form,
            extents=extents,
            section=titles[first.section],
            flags=first.flags,
        )
    return Unit(
        id=name,
        kind=UnitKind.COMPOSITE,
        form="cycle",
        extents=extents,
        section=titles[_common_section(draft, members)],
        members=tuple(unit.id for unit in members),
        flags=tuple(sorted({flag for unit in members for flag in unit.flags})),
    )


def _all_titles(draft: Draft) -> list[tuple[str, ...]]:
    """For each section the titles of the headings from the top down to it."""
    found: list[tuple[str, ...]] = []
    for row in draft.sections:
        above = () if row.parent is None else found[row.parent]
        found.append((*above, row.title) if row.kind == "heading" else above)
    return found


def _common_section(draft: Draft, members: tuple[DraftUnit, ...]) -> int:
    """The lowest section above all members."""
    if len(members) == 1:
        return members[0].section
    return max(frozenset.intersection(*(draft.ancestors(unit.section) for unit in members)))


def _contracted(edges: Sequence[Edge], new_id: Mapping[str, str]) -> tuple[Edge, ...]:
    kept: dict[tuple[str, str, str], Edge] = {}
    for edge in edges:
        source, target = new_id.get(edge.source, edge.source), new_id.get(edge.target, edge.target)
        if source != target:
            same = source == edge.source and target == edge.target
            kept.setdefault((edge.rule, source, target), edge if same else replace(edge, source=source, target=target))
    return tuple(kept.values())


def _contraction(name: str, members: tuple[DraftUnit, ...], edges: Sequence[Edge]) -> Contraction:
    ids = {unit.id for unit in members}
    inner = tuple(edge for edge in edges if edge.source in ids and edge.target in ids)
    return Contraction(
        unit=name,
        members=tuple(unit.id for unit in members),
        rules=tuple(sorted({edge.rule for edge in inner})),
        edges=inner,
    )


def _renamed(layout: Layout, new_id: Mapping[str, str]) -> Layout:
    pieces = tuple(
        replace(piece, unit=new_id[piece.unit]) if piece.unit and piece.unit in new_id else piece
        for piece in layout.pieces
    )
    return replace(layout, pieces=pieces)


# Pass 4, reconciliation: open blocks where dependencies and contiguity contradict each other.

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
