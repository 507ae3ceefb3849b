"""Exact values of a known game: phi(mu) = A V, by dynamic programming over the coalitions that mu can reach.

In a prefix of an order, at most one block of each level is unfinished, because blocks are contiguous. So the reachable
coalitions of a block are built from those of its children. A flat section of 20 units without dependencies has a
million of them: above `limit` the functions raise `TooManyCoalitions` with the count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillsv.errors import SkillSVError
from skillsv.model.coalition import Coalition
from skillsv.model.format import count
from skillsv.model.skill import CompiledSkill
from skillsv.order.block_tree import BlockTree, block_tree
from skillsv.order.downsets import CountingLimitReached, DownsetCounter, list_downsets, widest_level

LIMIT = 1_000_000
"""Largest number of reachable coalitions that `exact_design` lists."""

COUNT_LIMIT = 10**30
"""Counting stops at this number: the count of a flat skill with thousands of units has thousands of digits."""

Game = Callable[[Coalition], Any]
"""A known game V: the value of a coalition, a number or an array of numbers (one per task, say)."""


class TooManyCoalitions(SkillSVError):
    """Too many coalitions are reachable to list them. `reachable` is their number; None: they were not counted."""

    def __init__(self, reachable: int | None, limit: int) -> None:
        if reachable is None:
            number = "too many to count"
        else:
            number = count(reachable) if reachable < COUNT_LIMIT else "more than 10^30"
        super().__init__(
            f"The exact values need every reachable coalition, and there are {number} (limit {count(limit)}).",
            hint="Estimate by sampling orders, or compile at a coarser granularity.",
        )
        self.reachable = reachable


@dataclass(frozen=True, kw_only=True)
class ExactDesign:
    """Every coalition that is a prefix of some order, and the matrix A with phi(mu) = A V.

    `coalitions` has one row per distinct reachable coalition and one column per unit (row 0 is empty). The other arrays
    hold marginals: with `probability[k]` the prefix is row `before[k]`, and unit `unit[k]` comes next, which gives row
    `after[k]`. The probabilities of one unit sum to one.

        design = exact_design(compiled)
        values = design.weights @ game(design.coalitions)
    """

    units: tuple[str, ...]
    coalitions: NDArray[np.bool_]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    unit: NDArray[np.int64]
    probability: NDArray[np.float64]

    @cached_property
    def weights(self) -> Any:
        """A: a sparse matrix, units x coalitions."""
        from scipy import sparse  # type: ignore[import-untyped]

        entries = np.concatenate([self.probability, -self.probability])
        rows, columns = np.concatenate([self.unit, self.unit]), np.concatenate([self.after, self.before])
        return sparse.csr_matrix((entries, (rows, columns)), shape=(len(self.units), len(self.coalitions)))

    def named(self) -> Iterator[Coalition]:
        """The coalitions as sets of unit ids, in the order of the rows."""
        names = np.array(self.units, dtype=object)
        return (frozenset(names[row]) for row in self.coalitions)


def count_reachable(compiled: CompiledSkill) -> int:
    """The number of distinct coalitions that occur as prefixes under mu, the empty one included; at most `COUNTED`."""
    return _count_reachable(block_tree(compiled))


def _count_reachable(tree: BlockTree) -> int:
    reachable = [2] * len(tree.nodes)  # a unit: out or in
    for index, node in reversed(tuple(tree.inner)):
        if widest_level(node) >= COUNT_LIMIT.bit_length():
            return COUNT_LIMIT
        counter = DownsetCounter(node)
        partial = [reachable[child] - 2 for child in node.children]
        try:
            unfinished = sum(counter.count_before(place) * count for place, count in enumerate(partial) if count)
            reachable[index] = counter.count_all() + unfinished
        except CountingLimitReached:
            raise TooManyCoalitions(None, LIMIT) from None
        if reachable[index] >= COUNT_LIMIT:
            return COUNT_LIMIT  # the blocks around this one can only add coalitions
    return reachable[0]


def exact_design(compiled: CompiledSkill, *, limit: int = LIMIT) -> ExactDesign:
    """List the reachable coalitions and the probability of every (prefix, next unit) under mu."""
    tree = block_tree(compiled)
    reachable = _count_reachable(tree)
    if reachable > limit:
        raise TooManyCoalitions(reachable, limit)
    tables: dict[int, _Table] = {}
    for index, node in enumerate(tree.nodes):
        if not node.children:
            tables[index] = _make_leaf_table(node.unit)
    for index, _ in reversed(tuple(tree.inner)):
        tables[index] = _join_tables(tree, index, tables)
    root = tables[0]
    coalitions = np.zeros_like(root.coalitions)
    coalitions[:, root.units] = root.coalitions
    return ExactDesign(
        units=tree.units,
        coalitions=coalitions,
        before=root.before,
        after=root.after,
        unit=root.unit,
        probability=root.probability,
    )


def exact_values(compiled: CompiledSkill, game: Game, *, limit: int = LIMIT) -> dict[str, Any]:
    """phi(mu) of every unit for a known game, the trigger included (Eq. 1 of the paper)."""
    design = exact_design(compiled, limit=limit)
    scores = np.array([game(coalition) for coalition in design.named()], dtype=float)
    flat = scores.reshape(len(scores), -1)
    values = np.asarray(design.weights @ flat).reshape(len(design.units), *scores.shape[1:])
    return {unit: value if value.ndim else float(value) for unit, value in zip(design.units, values, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The reachable coalitions inside one block: row 0 is empty, row `full` has all units. See `ExactDesign`."""

    units: list[int]
    coalitions: NDArray[np.bool_]
    full: int
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    unit: NDArray[np.int64]
    probability: NDArray[np.float64]


def _make_leaf_table(unit: int) -> _Table:
    zero = np.zeros(1, dtype=np.int64)
    return _Table(
        units=[unit],
        coalitions=np.array([[False], [True]]),
        full=1,
        before=zero,
        after=zero + 1,
        unit=zero + unit,
        probability=np.ones(1),
    )


def _join_tables(tree: BlockTree, index: int, tables: dict[int, _Table]) -> _Table:
    """The table of a block from the tables of its children: sets of finished children, then one unfinished child."""
    node = tree.nodes[index]
    below = [tables.pop(child) for child in node.children]
    sets = list_downsets(node)
    widths = [len(table.units) for table in below]
    finished = np.repeat(sets.members, widths, axis=1)
    rows, marginals, total, column = [finished], [], len(finished), 0
    for child, table in enumerate(below):
        inside = np.array([row for row in range(len(table.coalitions)) if row not in (0, table.full)], dtype=np.int64)
        starts = sets.before[child]
        place = np.empty((len(starts), len(table.coalitions)), dtype=np.int64)
        place[:, 0], place[:, table.full] = starts, sets.after[child]
        place[:, inside] = total + np.arange(len(starts) * len(inside)).reshape(len(starts), len(inside))
        partial = np.repeat(finished[starts], len(inside), axis=0)
        partial[:, column : column + widths[child]] = np.tile(table.coalitions[inside], (len(starts), 1))
        rows.append(partial)
        total += len(partial)
        column += widths[child]
        chance = np.outer(sets.choice[child], table.probability)
        unit = np.broadcast_to(table.unit, chance.shape)
        marginals.append((place[:, table.before].ravel(), place[:, table.after].ravel(), unit.ravel(), chance.ravel()))
    return _Table(
        units=[unit for table in below for unit in table.units],
        coalitions=np.concatenate(rows),
        full=len(finished) - 1,
        before=np.concatenate([marginal[0] for marginal in marginals]),
        after=np.concatenate([marginal[1] for marginal in marginals]),
        unit=np.concatenate([marginal[2] for marginal in marginals]),
        probability=np.concatenate([marginal[3] for marginal in marginals]),
    )
