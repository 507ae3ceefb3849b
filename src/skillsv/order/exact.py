"""Exact values of a known game: phi(mu) = A V by a block DP over the coalitions that mu can reach.

Under contiguity a prefix is a set of finished sibling blocks at each level plus at most one unfinished block, so the
reachable coalitions of a block are put together from those of its children. A flat section of 20 free units has a
million of them: beyond `limit` this says so (`TooWide`, with the count), and `values_of` samples orders instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
from skillsv.order.downsets import Counter, TooTangled, list_downsets, widest_level
from skillsv.order.sample import Sampler

LIMIT = 1_000_000
"""Reachable coalitions that are still listed."""

COUNTED = 10**30
"""Where counting coalitions stops: a flat skill of thousands of units has a number of thousands of digits."""

Game = Callable[[Coalition], Any]
"""A known game V: the value of a coalition, a number or an array of numbers (one per task, say)."""


class TooWide(SkillSVError):
    """Too many coalitions are reachable to list them: `reachable` many, or None where counting gave up."""

    def __init__(self, reachable: int | None, limit: int) -> None:
        if reachable is None:
            number = "too many to count"
        else:
            number = count(reachable) if reachable < COUNTED else "more than 10^30"
        super().__init__(
            f"The exact values need every reachable coalition, and there are {number} (limit {count(limit)}).",
            hint="Estimate by sampling orders, or compile at a coarser granularity.",
        )
        self.reachable = reachable


@dataclass(frozen=True, kw_only=True)
class ExactDesign:
    """Every coalition a prefix of an order can be, and the matrix A with phi(mu) = A V.

    `coalitions` has one row per distinct reachable coalition, one column per unit (row 0 is empty). Entry k of the
    marginal arrays says: with `probability[k]` the prefix is row `before[k]` and unit `unit[k]` comes next, giving row
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
        """The coalitions as sets of unit ids, in row order."""
        names = np.array(self.units, dtype=object)
        return (frozenset(names[row]) for row in self.coalitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class GameValues:
    """phi(mu) of a known game by unit id. Standard errors are zero where the values are exact."""

    values: Mapping[str, Any]
    standard_errors: Mapping[str, Any]
    exact: bool
    orders: int = 0


def count_reachable(compiled: CompiledSkill) -> int:
    """The number of distinct coalitions that occur as prefixes under mu, the empty one included; at most `COUNTED`."""
    return _count(block_tree(compiled))


def _count(tree: BlockTree) -> int:
    reachable = [2] * len(tree.nodes)  # a unit: out or in
    for index, node in reversed(tuple(tree.inner)):
        if widest_level(node) >= COUNTED.bit_length():
            return COUNTED
        counter = Counter(node)
        inside = [reachable[child] - 2 for child in node.children]
        try:
            partial = sum(counter.where_next(place) * count for place, count in enumerate(inside) if count)
            reachable[index] = counter.all() + partial
        except TooTangled:
            raise TooWide(None, LIMIT) from None
        if reachable[index] >= COUNTED:
            return COUNTED  # what is around a block can only add to it
    return reachable[0]


def exact_design(compiled: CompiledSkill, *, limit: int = LIMIT) -> ExactDesign:
    """List the reachable coalitions and the probability of every (prefix, next unit) under mu."""
    tree = block_tree(compiled)
    reachable = _count(tree)
    if reachable > limit:
        raise TooWide(reachable, limit)
    tables: dict[int, _Table] = {}
    for index, node in enumerate(tree.nodes):
        if not node.children:
            tables[index] = _leaf(node.unit)
    for index, _ in reversed(tuple(tree.inner)):
        tables[index] = _joined(tree, index, tables)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The reachable coalitions inside one block: row 0 is empty, row `full` is all of it."""

    units: list[int]
    coalitions: NDArray[np.bool_]
    full: int
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    unit: NDArray[np.int64]
    probability: NDArray[np.float64]


def _leaf(unit: int) -> _Table:
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


def _joined(tree: BlockTree, index: int, tables: dict[int, _Table]) -> _Table:
    """The table of a block from those of its children: sets of finished children, then one unfinished child each."""
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


def exact_values(compiled: CompiledSkill, game: Game, *, limit: int = LIMIT) -> dict[str, Any]:
    """phi(mu) of every unit for a known game, trigger included (Eq. 1 of the paper, exactly)."""
    design = exact_design(compiled, limit=limit)
    scores = np.array([game(coalition) for coalition in design.named()], dtype=float)
    flat = scores.reshape(len(scores), -1)
    values = np.asarray(design.weights @ flat).reshape(len(design.units), *scores.shape[1:])
    return {unit: value if value.ndim else float(value) for unit, value in zip(design.units, values, strict=True)}


def sampled_values(compiled: CompiledSkill, game: Game, rng: np.random.Generator, orders: int = 1000) -> GameValues:
    """phi(mu) from sampled orders, with the standard error of each mean."""
    if orders < 2:
        raise SkillSVError("At least two orders are needed to estimate values with a standard error.")
    sampler = Sampler(compiled)
    place = {unit: number for number, unit in enumerate(sampler.tree.units)}
    known: dict[Coalition, Any] = {}
    gains: list[NDArray[np.float64]] = []
    for order in sampler.orders(rng, orders):
        prefixes = [frozenset(order[:length]) for length in range(len(order) + 1)]
        for prefix in prefixes:
            if prefix not in known:
                known[prefix] = game(prefix)
        steps = np.diff(np.array([known[prefix] for prefix in prefixes], dtype=float), axis=0)
        gains.append(steps[np.argsort([place[unit] for unit in order])])
    means = np.mean(gains, axis=0)
    errors = np.std(gains, axis=0, ddof=1) / np.sqrt(orders)
    return GameValues(
        values=dict(zip(place, means, strict=True)),
        standard_errors=dict(zip(place, errors, strict=True)),
        exact=False,
        orders=orders,
    )


def values_of(
    compiled: CompiledSkill, game: Game, rng: np.random.Generator, *, orders: int = 1000, limit: int = LIMIT
) -> GameValues:
    """Exact values where the reachable coalitions can be listed, sampled ones with standard errors where not."""
    try:
        values = exact_values(compiled, game, limit=limit)
    except TooWide:
        return sampled_values(compiled, game, rng, orders)
    return GameValues(values=values, standard_errors={unit: 0.0 * value for unit, value in values.items()}, exact=True)
