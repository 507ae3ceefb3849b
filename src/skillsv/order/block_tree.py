"""The repaired hierarchy as plain integers: blocks, and which block must wait for which (Q_h in the paper)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skillsv.errors import SkillSVError
from skillsv.model.skill import Block, CompiledSkill, Leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One block of the hierarchy with its block graph Q_h over `children` (indices into `BlockTree.nodes`).

    By position among the children: `frees[c]` are the blocks that wait for c, `waits[c]` the number of blocks c waits
    for. A leaf has no children and names its `unit` by number.
    """

    children: tuple[int, ...] = ()
    unit: int = -1
    waits: tuple[int, ...] = ()
    frees: tuple[tuple[int, ...], ...] = ()

    @property
    def prerequisites(self) -> tuple[tuple[int, ...], ...]:
        """For each child the positions of the children it waits for."""
        table: list[list[int]] = [[] for _ in self.children]
        for first, freed in enumerate(self.frees):
            for later in freed:
                table[later].append(first)
        return tuple(tuple(row) for row in table)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTree:
    """H* and D as numbers. Units are numbered as in `CompiledSkill.units`; children stand after their parent."""

    units: tuple[str, ...]
    nodes: tuple[Node, ...]
    parents: tuple[int, ...]

    @property
    def inner(self) -> Iterable[tuple[int, Node]]:
        """The inner nodes with their numbers, parents first."""
        return ((index, node) for index, node in enumerate(self.nodes) if node.children)


def block_tree(compiled: CompiledSkill) -> BlockTree:
    """The block graphs of a compiled skill; complains where the hierarchy does not admit a single feasible order."""
    numbers = {unit.id: number for number, unit in enumerate(compiled.units)}
    children, parents, leaf_of = _flatten(compiled.hierarchy, numbers)
    missing = [unit for unit, number in numbers.items() if number not in leaf_of]
    if missing:
        raise SkillSVError(f"The hierarchy leaves out {len(missing)} unit(s), first {missing[0]}.")
    arcs = _arcs(compiled, numbers, parents, leaf_of)
    unit_of = {node: number for number, node in leaf_of.items()}
    nodes = tuple(_node(index, below, arcs[index], unit_of.get(index, -1)) for index, below in enumerate(children))
    return BlockTree(units=tuple(numbers), nodes=nodes, parents=tuple(parents))


def _flatten(root: Block, numbers: dict[str, int]) -> tuple[list[list[int]], list[int], dict[int, int]]:
    """Children and parent of each node in preorder, and the leaf of each unit. Blocks without units are dropped."""
    children: list[list[int]] = []
    parents: list[int] = []
    leaf_of: dict[int, int] = {}
    todo: list[tuple[Block | Leaf, int]] = [(root, -1)]
    while todo:
        here, parent = todo.pop()
        if isinstance(here, Block) and parent >= 0 and not _has_unit(here):
            continue
        index = len(children)
        children.append([])
        parents.append(parent)
        if parent >= 0:
            children[parent].append(index)
        if isinstance(here, Leaf):
            if here.unit not in numbers or numbers[here.unit] in leaf_of:
                raise SkillSVError(f"The hierarchy names {here.unit} twice, or names no unit of the skill.")
            leaf_of[numbers[here.unit]] = index
        else:
            todo.extend((child, index) for child in reversed(here.children))
    return children, parents, leaf_of


def _has_unit(block: Block) -> bool:
    todo: list[Block | Leaf] = [block]
    while todo:
        here = todo.pop()
        if isinstance(here, Leaf):
            return True
        todo.extend(here.children)
    return False


def _arcs(
    compiled: CompiledSkill, numbers: dict[str, int], parents: list[int], leaf_of: dict[int, int]
) -> list[set[tuple[int, int]]]:
    """Per node the arcs (first, later) between its children: a unit below `later` needs one below `first`."""
    arcs: list[set[tuple[int, int]]] = [set() for _ in parents]
    depth: list[int] = []
    for parent in parents:
        depth.append(0 if parent < 0 else depth[parent] + 1)
    for source, targets in compiled.needs.items():
        for target in targets:
            later, first = leaf_of[numbers[source]], leaf_of[numbers[target]]
            while parents[later] != parents[first]:
                if depth[later] >= depth[first]:
                    later = parents[later]
                if depth[first] > depth[later]:
                    first = parents[first]
            if later != first:
                arcs[parents[later]].add((first, later))
    return arcs


def _node(index: int, children: list[int], arcs: set[tuple[int, int]], unit: int) -> Node:
    place = {child: position for position, child in enumerate(children)}
    frees: list[list[int]] = [[] for _ in children]
    waits = [0] * len(children)
    for first, later in sorted(arcs):
        frees[place[first]].append(place[later])
        waits[place[later]] += 1
    node = Node(children=tuple(children), unit=unit, waits=tuple(waits), frees=tuple(tuple(row) for row in frees))
    if not _acyclic(node):
        raise SkillSVError(f"The blocks of hierarchy node {index} wait for each other: no feasible order exists.")
    return node


def _acyclic(node: Node) -> bool:
    waits = list(node.waits)
    ready = [child for child, count in enumerate(waits) if not count]
    for child in ready:  # grows while it is walked: a topological order
        for later in node.frees[child]:
            waits[later] -= 1
            if not waits[later]:
                ready.append(later)
    return len(ready) == len(waits)
