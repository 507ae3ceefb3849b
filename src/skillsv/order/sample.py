"""Samples feasible orders with the paper's recursive block sampler (SampleOrder), which defines mu; checks orders."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skillsv.errors import CoalitionError
from skillsv.model.coalition import Order
from skillsv.model.skill import CompiledSkill
from skillsv.order.block_tree import BlockTree, Node, block_tree


class Sampler:
    """Draws orders pi ~ mu: at each block, uniformly among the children whose needs are all drawn.

    The block tree is built once. A draw takes time linear in the number of units and block arcs.

        order = Sampler(compiled).sample(numpy.random.default_rng(7))
    """

    def __init__(self, compiled: CompiledSkill) -> None:
        self.tree: BlockTree = block_tree(compiled)
        self._nodes = self.tree.nodes
        self._leaves = [self.tree.units[node.unit] if node.unit >= 0 else None for node in self._nodes]
        self._choices = sum(len(node.children) for node in self._nodes)

    def sample(self, rng: np.random.Generator) -> Order:
        """One feasible order of all units, the trigger first (Algorithm SampleOrder)."""
        draws = iter(rng.random(self._choices).tolist())
        nodes, leaves = self._nodes, self._leaves
        order: list[str] = []
        pending = [0]
        while pending:
            number = pending.pop()
            if (unit := leaves[number]) is not None:
                order.append(unit)
            elif nodes[number].children:
                # Choices at different blocks are independent: draw the order of the children, then visit them.
                pending.extend(reversed(_draw_child_order(nodes[number], draws)))
        return tuple(order)

    def orders(self, rng: np.random.Generator, count: int) -> Iterator[Order]:
        """`count` independent orders."""
        return (self.sample(rng) for _ in range(count))


def _draw_child_order(node: Node, draws: Iterator[float]) -> list[int]:
    if not any(node.waits):
        return _draw_free_order(node.children, draws)
    waits = list(node.waits)
    eligible = [child for child, count in enumerate(waits) if not count]
    order: list[int] = []
    while eligible:
        pick = int(next(draws) * len(eligible))
        eligible[pick], eligible[-1] = eligible[-1], eligible[pick]
        child = eligible.pop()
        order.append(node.children[child])
        for later in node.frees[child]:
            waits[later] -= 1
            if not waits[later]:
                eligible.append(later)
    return order


def _draw_free_order(children: tuple[int, ...], draws: Iterator[float]) -> list[int]:
    """The same choices where no child needs another, which is faster."""
    eligible, order = list(children), []
    for last in range(len(children) - 1, -1, -1):
        pick = int(next(draws) * (last + 1))
        order.append(eligible[pick])
        eligible[pick] = eligible[last]
    return order


def probability(compiled: CompiledSkill, order: Order) -> float:
    """mu(pi): the probability that the sampler draws this order; 0.0 for an order that is not feasible."""
    tree = block_tree(compiled)
    try:
        return 1 / _count_choices(tree, order)
    except CoalitionError:
        return 0.0


def check(compiled: CompiledSkill, order: Order) -> None:
    """Raise CoalitionError with the first violation if an order is not feasible."""
    _count_choices(block_tree(compiled), order)


def _count_choices(tree: BlockTree, order: Order) -> int:
    """1 / mu(order): the product of the numbers of eligible blocks over all choices at all blocks."""
    if sorted(order) != sorted(tree.units):
        raise CoalitionError("An order names every unit of the skill exactly once.")
    chosen = _children_in_order(tree, order)
    choices = 1
    for index, node in tree.inner:
        choices *= _count_block_choices(tree, node, chosen[index])
    return choices


def _children_in_order(tree: BlockTree, order: Order) -> dict[int, list[int]]:
    """For each inner node its children in their order. Raises CoalitionError for a block that is not contiguous."""
    leaf_of = {tree.units[node.unit]: index for index, node in enumerate(tree.nodes) if node.unit >= 0}
    visits: dict[int, list[int]] = {index: [] for index, _ in tree.inner}
    finished: set[int] = set()
    for unit in order:
        node = leaf_of[unit]
        while (parent := tree.parents[node]) >= 0:
            if node in finished:
                raise CoalitionError(
                    f"{unit} is separated from its block: the units of a block come one after another."
                )
            if not visits[parent] or visits[parent][-1] != node:
                finished.update(visits[parent][-1:])
                visits[parent].append(node)
            node = parent
    return visits


def _count_block_choices(tree: BlockTree, node: Node, chosen: list[int]) -> int:
    place = {child: position for position, child in enumerate(node.children)}
    waits = list(node.waits)
    eligible = waits.count(0)
    choices = 1
    for child in chosen:
        position = place[child]
        if waits[position]:
            raise CoalitionError(f"{_first_unit(tree, child)} comes before a unit that its block needs.")
        choices *= eligible
        eligible -= 1
        for later in node.frees[position]:
            waits[later] -= 1
            eligible += not waits[later]
    return choices


def _first_unit(tree: BlockTree, index: int) -> str:
    while tree.nodes[index].children:
        index = tree.nodes[index].children[0]
    return tree.units[tree.nodes[index].unit]
