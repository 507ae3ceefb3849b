"""Draw feasible orders: SampleOrder, the paper's recursive block sampler, which declares mu."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skillsv.model.coalition import Order
from skillsv.model.skill import CompiledSkill
from skillsv.order.blocks import BlockTree, Node, block_tree


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
