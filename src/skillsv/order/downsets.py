"""Downsets of one block: the sets of finished children that can occur. They are listed with probabilities, or counted.

A downset contains with each child all children that it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillsv.order.block_tree import Node

COUNTING_STEPS = 1_000_000
"""Examined children after which counting stops: only dense block graphs of dozens of blocks reach it."""


class CountingLimitReached(Exception):
    """The block graph has too many dependencies to count its downsets in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downsets:
    """All downsets of the children of one block, smallest first: row 0 is empty, the last row is full.

    `members` is rows x children; `probability` is the chance under mu that the downset occurs. For child c, `before[c]`
    are the rows after which c may come next, `after[c]` the rows that result, `choice[c]` the probability that the
    downset occurs and c is drawn next.
    """

    members: NDArray[np.bool_]
    probability: NDArray[np.float64]
    before: tuple[NDArray[np.int64], ...]
    after: tuple[NDArray[np.int64], ...]
    choice: tuple[NDArray[np.float64], ...]


def list_downsets(node: Node) -> Downsets:
    """List the downsets by size. Each gives equal shares of its probability to the downsets that may follow."""
    size = len(node.children)
    single = np.stack([_pack([position == child for position in range(size)]) for child in range(size)])
    needs = np.zeros((size, size), dtype=np.float32)  # floats, because numpy multiplies them fastest
    for child, row in enumerate(node.prerequisites):
        needs[child, list(row)] = 1
    level: NDArray[np.uint64] = np.zeros((1, single.shape[1]), dtype=np.uint64)
    chance: NDArray[np.float64] = np.ones(1)
    levels, chances, steps, first = [level], [chance], [], 0
    for _ in range(size):
        absent = ~_unpack(level, size)
        free = absent & (absent.astype(np.float32) @ needs.T == 0)
        share = chance / free.sum(axis=1)
        children, rows = np.nonzero(free.T)
        level, place = _find_distinct(level[rows] | single[children])
        steps.append((children, rows + first, place + first + len(chance), share[rows]))
        first += len(chance)
        chance = np.bincount(place, weights=share[rows], minlength=len(level)).astype(np.float64)
        levels.append(level)
        chances.append(chance)
    before, after, choice = _split_by_child(steps, size)
    return Downsets(
        members=_unpack(np.concatenate(levels), size),
        probability=np.concatenate(chances),
        before=before,
        after=after,
        choice=choice,
    )


def _split_by_child(steps: Sequence[tuple[NDArray[Any], ...]], size: int) -> tuple[tuple[NDArray[Any], ...], ...]:
    """The columns (before, after, choice) of all steps, split by the child of the step."""
    children, *columns = (np.concatenate(column) for column in zip(*steps, strict=True))
    sorting = np.argsort(children, kind="stable")
    cuts = np.searchsorted(children[sorting], np.arange(1, size))
    return tuple(tuple(np.split(column[sorting], cuts)) for column in columns)


def _pack(bits: list[bool]) -> NDArray[np.uint64]:
    """The bits as 64-bit words."""
    packed = np.packbits(np.array(bits, dtype=bool), bitorder="little")
    return np.frombuffer(packed.tobytes().ljust(-(-packed.size // 8) * 8, b"\0"), dtype="<u8").astype(np.uint64)


def _unpack(words: NDArray[np.uint64], size: int) -> NDArray[np.bool_]:
    octets = np.ascontiguousarray(words.astype("<u8")).view(np.uint8).reshape(len(words), -1)
    return np.unpackbits(octets, axis=1, count=size, bitorder="little").astype(bool)


def _find_distinct(words: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The distinct rows, and for every row the index of its distinct row."""
    if words.shape[1] == 1:
        values, place = np.unique(words[:, 0], return_inverse=True)
        return values[:, None], place
    rows, place = np.unique(words, axis=0, return_inverse=True)
    return rows, place.reshape(-1)


def widest_level(node: Node) -> int:
    """The largest number of children with equally long chains of needs: every subset of them is part of a downset."""
    depth = [0] * len(node.children)
    for child in node.topological_order():
        for later in node.frees[child]:
            depth[later] = max(depth[later], depth[child] + 1)
    return max(Counter(depth).values())


class DownsetCounter:
    """Counts the downsets of one block graph exactly, by splitting it into independent parts.

    Sets of children are bit masks.
    """

    def __init__(self, node: Node) -> None:
        size = len(node.children)
        self.everything = (1 << size) - 1
        self.below = [0] * size
        self.above = [0] * size
        self._find_reach(node)
        self._known: dict[int, int] = {0: 1}
        self._steps = 0

    def _find_reach(self, node: Node) -> None:
        """For each child the children that it needs (`below`) and that need it (`above`), itself included."""
        order = node.topological_order()
        for child in order:
            self.below[child] |= 1 << child
            for later in node.frees[child]:
                self.below[later] |= self.below[child]
        for child in reversed(order):
            self.above[child] |= 1 << child
            for later in node.frees[child]:
                self.above[child] |= self.above[later]

    def count_all(self) -> int:
        """The number of downsets."""
        return self._count(self.everything)

    def count_before(self, child: int) -> int:
        """The number of downsets after which `child` may come next."""
        return self._count(self.everything & ~self.below[child] & ~self.above[child])

    def _count(self, within: int) -> int:
        """The downsets within a convex part: a product over its connected parts."""
        total = 1
        while within:
            part = self._find_connected(within)
            within &= ~part
            total *= self._count_connected(part)
        return total

    def _find_connected(self, within: int) -> int:
        part, frontier = 0, within & -within
        while frontier:
            child = frontier.bit_length() - 1
            part |= 1 << child
            frontier = (frontier | ((self.below[child] | self.above[child]) & within)) & ~part
        return part

    def _count_connected(self, part: int) -> int:
        if part & (part - 1) == 0:
            return 1 + (part != 0)
        if part not in self._known:
            self._steps += part.bit_count()
            if self._steps > COUNTING_STEPS:
                raise CountingLimitReached
            pivot = max(_list_bits(part), key=lambda child: self._split_quality(child, part))
            # Downsets without the pivot contain nothing that needs it; those with it contain all that it needs.
            self._known[part] = self._count(part & ~self.above[pivot]) + self._count(part & ~self.below[pivot])
        return self._known[part]

    def _split_quality(self, child: int, part: int) -> tuple[int, int]:
        """How well a child divides a part: by its connections, then by its distance to the middle of a chain."""
        below, above = (self.below[child] & part).bit_count(), (self.above[child] & part).bit_count()
        return below + above, -abs(below - above)


def _list_bits(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]
