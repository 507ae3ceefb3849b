"""Draw feasible orders: SampleOrder, the paper's recursive block sampler, which declares mu."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skillsv.errors import CoalitionError
from skillsv.model.coalition import Order
from skillsv.model.skill import CompiledSkill
from skillsv.order.block_tree import BlockTree, Node, block_tree


class Sampler:
    """Draws orders pi ~ mu: at each block uniformly among the children that wait for nothing any more.

    The tree is turned into numbers once; a draw costs time linear in the number of units and block arcs.

        order = Sampler(compiled).sample(numpy.random.default_rng(7))
    """

    def __init__(self, compiled: CompiledSkill) -> None:
        self.tree: BlockTree = block_tree(compiled)
        self._nodes = self.tree.nodes
        self._choices = sum(len(node.children) for node in self._nodes)

    def sample(self, rng: np.random.Generator) -> Order:
        """One feasible order of all units, the trigger first (Algorithm SampleOrder)."""
        draws = iter(rng.random(self._choices).tolist())
        units, nodes = self.tree.units, self._nodes
        order: list[str] = []
        todo = [0]
        while todo:
            node = nodes[todo.pop()]
            if node.children:
                # What is chosen at one block never depends on another: draw its children's order, then walk into them.
                todo.extend(reversed(_child_order(node, draws)))
            elif node.unit >= 0:
                order.append(units[node.unit])
        return tuple(order)

    def orders(self, rng: np.random.Generator, count: int) -> Iterator[Order]:
        """`count` independent orders."""
        return (self.sample(rng) for _ in range(count))


def _child_order(node: Node, draws: Iterator[float]) -> list[int]:
    waits = list(node.waits)
    eligible = [child for child, count in enumerate(waits) if not count]
    chosen: list[int] = []
    while eligible:
        pick = int(next(draws) * len(eligible))
        eligible[pick], eligible[-1] = eligible[-1], eligible[pick]
        child = eligible.pop()
        chosen.append(node.children[child])
        for later in node.frees[child]:
            waits[later] -= 1
            if not waits[later]:
                eligible.append(later)
    return chosen


# How likely an order is under mu, and why an order is not feasible.


def probability(compiled: CompiledSkill, order: Order) -> float:
    """mu(pi): the chance that the sampler draws exactly this order; 0.0 for an order that is not feasible."""
    tree = block_tree(compiled)
    try:
        return 1 / _odds(tree, order)
    except CoalitionError:
        return 0.0


def check(compiled: CompiledSkill, order: Order) -> None:
    """Complain, naming the first offence, when an order is not feasible."""
    _odds(block_tree(compiled), order)


def _odds(tree: BlockTree, order: Order) -> int:
    """One over mu(order): the product of the number of eligible blocks over all choices, at every block."""
    if sorted(order) != sorted(tree.units):
        raise CoalitionError("An order names every unit of the skill exactly once.")
    chosen = _children_in_order(tree, order)
    odds = 1
    for index, node in tree.inner:
        odds *= _odds_at(tree, node, chosen[index])
    return odds


def _children_in_order(tree: BlockTree, order: Order) -> dict[int, list[int]]:
    """For each inner node its children as the order visits them; a block visited twice is not contiguous."""
    leaf_of = {tree.units[node.unit]: index for index, node in enumerate(tree.nodes) if node.unit >= 0}
    visits: dict[int, list[int]] = {index: [] for index, _ in tree.inner}
    finished: set[int] = set()
    for unit in order:
        here = leaf_of[unit]
        while (parent := tree.parents[here]) >= 0:
            if here in finished:
                raise CoalitionError(f"{unit} is torn from its block: the units of a block come one after another.")
            if not visits[parent] or visits[parent][-1] != here:
                finished.update(visits[parent][-1:])
                visits[parent].append(here)
            here = parent
    return visits


def _odds_at(tree: BlockTree, node: Node, chosen: list[int]) -> int:
    place = {child: position for position, child in enumerate(node.children)}
    waits = list(node.waits)
    eligible = waits.count(0)
    odds = 1
    for child in chosen:
        position = place[child]
        if waits[position]:
            raise CoalitionError(f"{_first_unit(tree, child)} comes before something its block needs.")
        odds *= eligible
        eligible -= 1
        for later in node.frees[position]:
            waits[later] -= 1
            eligible += not waits[later]
    return odds


def _first_unit(tree: BlockTree, index: int) -> str:
    while tree.nodes[index].children:
        index = tree.nodes[index].children[0]
    return tree.units[tree.nodes[index].unit]
