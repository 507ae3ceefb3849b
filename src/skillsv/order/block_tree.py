"""The repaired hierarchy H* with numbers for blocks and units, and the block graphs Q_h of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skillsv.errors import SkillSVError
from skillsv.model.skill import Block, CompiledSkill, Leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One block of the hierarchy with its block graph Q_h over `children` (indices into `BlockTree.nodes`).

    By position among the children: `waits[c]` is the number of blocks that must come before c, `frees[c]` are the
    blocks that must come after c. A leaf has no children; `unit` is its number.
    """

    children: tuple[int, ...] = ()
    unit: int = -1
    waits: tuple[int, ...] = ()
    frees: tuple[tuple[int, ...], ...] = ()

    @property
    def prerequisites(self) -> tuple[tuple[int, ...], ...]:
        """For each child the positions of the children that must come before it."""
        table: list[list[int]] = [[] for _ in self.children]
        for first, followers in enumerate(self.frees):
            for later in followers:
                table[later].append(first)
        return tuple(tuple(row) for row in table)

    def topological_order(self) -> list[int]:
        """Positions of the children, each after all that must come before it. Children in a cycle are left out."""
        waits = list(self.waits)
        ready = [child for child, count in enumerate(waits) if not count]
        for child in ready:  # the list grows during the loop
            for later in self.frees[child]:
                waits[later] -= 1
                if not waits[later]:
                    ready.append(later)
        return ready


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTree:
    """H* and D as numbers. Units have the order of `CompiledSkill.units`; children come after their parent."""

    units: tuple[str, ...]
    nodes: tuple[Node, ...]
    parents: tuple[int, ...]

    @property
    def inner(self) -> Iterable[tuple[int, Node]]:
        """The inner nodes with their numbers, parents first."""
        return ((index, node) for index, node in enumerate(self.nodes) if node.children)


def block_tree(compiled: CompiledSkill) -> BlockTree:
    """The block tree of a compiled skill. Raises SkillSVError if no feasible order exists."""
    numbers = {unit.id: number for number, unit in enumerate(compiled.units)}
    children, parents, leaf_of = _flatten(compiled.hierarchy, numbers)
    missing = [unit for unit, number in numbers.items() if number not in leaf_of]
    if missing:
        raise SkillSVError(f"The hierarchy leaves out {len(missing)} unit(s), first {missing[0]}.")
    arcs = _find_arcs(compiled, numbers, parents, leaf_of)
    unit_of = {node: number for number, node in leaf_of.items()}
    nodes = tuple(_make_node(index, below, arcs[index], unit_of.get(index, -1)) for index, below in enumerate(children))
    return BlockTree(units=tuple(numbers), nodes=nodes, parents=tuple(parents))


def _flatten(root: Block, numbers: dict[str, int]) -> tuple[list[list[int]], list[int], dict[int, int]]:
    """Children and parent of each node in preorder, and the leaf of each unit. Blocks without units are left out."""
    children: list[list[int]] = []
    parents: list[int] = []
    leaf_of: dict[int, int] = {}
    pending: list[tuple[Block | Leaf, int]] = [(root, -1)]
    while pending:
        block, parent = pending.pop()
        if isinstance(block, Block) and parent >= 0 and not _has_unit(block):
            continue
        index = len(children)
        children.append([])
        parents.append(parent)
        if parent >= 0:
            children[parent].append(index)
        if isinstance(block, Leaf):
            if block.unit not in numbers or numbers[block.unit] in leaf_of:
                raise SkillSVError(f"The hierarchy names {block.unit} twice, or it is not a unit of the skill.")
            leaf_of[numbers[block.unit]] = index
        else:
            pending.extend((child, index) for child in reversed(block.children))
    return children, parents, leaf_of


def _has_unit(block: Block) -> bool:
    pending: list[Block | Leaf] = [block]
    while pending:
        node = pending.pop()
        if isinstance(node, Leaf):
            return True
        pending.extend(node.children)
    return False


def _find_arcs(
    compiled: CompiledSkill, numbers: dict[str, int], parents: list[int], leaf_of: dict[int, int]
) -> list[set[tuple[int, int]]]:
    """For each node the arcs (first, later) between its children: a unit below `later` needs one below `first`."""
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


def _make_node(index: int, children: list[int], arcs: set[tuple[int, int]], unit: int) -> Node:
    place = {child: position for position, child in enumerate(children)}
    frees: list[list[int]] = [[] for _ in children]
    waits = [0] * len(children)
    for first, later in sorted(arcs):
        frees[place[first]].append(place[later])
        waits[place[later]] += 1
    node = Node(children=tuple(children), unit=unit, waits=tuple(waits), frees=tuple(tuple(row) for row in frees))
    if len(node.topological_order()) != len(children):
        raise SkillSVError(f"The blocks of hierarchy node {index} wait for each other: no feasible order exists.")
    return node
