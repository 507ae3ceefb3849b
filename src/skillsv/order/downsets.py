"""The sets of finished children that can occur at one block: counted without listing, or listed with their odds."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillsv.order.block_tree import Node

COUNTING_STEPS = 1_000_000
"""Looks at a child after which counting gives up: only tangled block graphs of dozens of blocks come near."""


class TooTangled(Exception):
    """The block graph has no structure that makes counting quick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downsets:
    """All downward-closed sets of children of one block, smallest first: row 0 is empty, the last row is full.

    `members` is rows x children; `probability` is the chance under mu that the set occurs. For child c,
    `before[c]` are the rows where c may come next, `after[c]` the rows that result, `choice[c]` the probability that
    the set occurs and c is drawn from it.
    """

    members: NDArray[np.bool_]
    probability: NDArray[np.float64]
    before: tuple[NDArray[np.int64], ...]
    after: tuple[NDArray[np.int64], ...]
    choice: tuple[NDArray[np.float64], ...]


def list_downsets(node: Node) -> Downsets:
    """Walk the sets level by level; each passes its probability on in equal parts to what may come next."""
    size = len(node.children)
    single = np.stack([_words([position == child for position in range(size)]) for child in range(size)])
    needs = np.zeros((size, size), dtype=np.float32)  # floats: their product runs at the speed of the machine
    for child, row in enumerate(node.prerequisites):
        needs[child, list(row)] = 1
    level: NDArray[np.uint64] = np.zeros((1, single.shape[1]), dtype=np.uint64)
    chance: NDArray[np.float64] = np.ones(1)
    levels, chances, steps, first = [level], [chance], [], 0
    for _ in range(size):
        absent = ~_unpacked(level, size)
        free = absent & (absent.astype(np.float32) @ needs.T == 0)
        share = chance / free.sum(axis=1)
        children, rows = np.nonzero(free.T)
        level, place = _distinct(level[rows] | single[children])
        steps.append((children, rows + first, place + first + len(chance), share[rows]))
        first += len(chance)
        chance = np.bincount(place, weights=share[rows], minlength=len(level)).astype(np.float64)
        levels.append(level)
        chances.append(chance)
    before, after, choice = _by_child(steps, size)
    return Downsets(
        members=_unpacked(np.concatenate(levels), size),
        probability=np.concatenate(chances),
        before=before,
        after=after,
        choice=choice,
    )


def _by_child(steps: Sequence[tuple[NDArray[Any], ...]], size: int) -> tuple[tuple[NDArray[Any], ...], ...]:
    """The columns (before, after, choice) of all steps, split by the child that was taken."""
    taken, *columns = (np.concatenate(column) for column in zip(*steps, strict=True))
    sorting = np.argsort(taken, kind="stable")
    cuts = np.searchsorted(taken[sorting], np.arange(1, size))
    return tuple(tuple(np.split(column[sorting], cuts)) for column in columns)


def _words(bits: list[bool]) -> NDArray[np.uint64]:
    packed = np.packbits(np.array(bits, dtype=bool), bitorder="little")
    return np.frombuffer(packed.tobytes().ljust(-(-packed.size // 8) * 8, b"\0"), dtype="<u8").astype(np.uint64)


def _unpacked(words: NDArray[np.uint64], size: int) -> NDArray[np.bool_]:
    octets = np.ascontiguousarray(words.astype("<u8")).view(np.uint8).reshape(len(words), -1)
    return np.unpackbits(octets, axis=1, count=size, bitorder="little").astype(bool)


def _distinct(words: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    if words.shape[1] == 1:
        values, place = np.unique(words[:, 0], return_inverse=True)
        return values[:, None], place
    rows, place = np.unique(words, axis=0, return_inverse=True)
    return rows, place.reshape(-1)


def widest_level(node: Node) -> int:
    """The most children with equally long chains of needs: none needs another, so every subset of them can occur."""
    waits = list(node.waits)
    depth = [0] * len(waits)
    ready = [child for child, count in enumerate(waits) if not count]
    for child in ready:  # grows while it is walked: a topological order
        for later in node.frees[child]:
            depth[later] = max(depth[later], depth[child] + 1)
            waits[later] -= 1
            if not waits[later]:
                ready.append(later)
    return max(Tally(depth).values())


class Counter:
    """Counts the downward-closed sets of one block graph, exactly, by splitting it into independent parts."""

    def __init__(self, node: Node) -> None:
        size = len(node.children)
        self.everything = (1 << size) - 1
        self.below = [0] * size
        self.above = [0] * size
        self._reach(node)
        self._known: dict[int, int] = {0: 1}
        self._looks = 0

    def _reach(self, node: Node) -> None:
        """Bit masks of all that a child needs (`below`) and all that needs it (`above`), itself included."""
        waits = list(node.waits)
        ready = [child for child, count in enumerate(waits) if not count]
        for child in ready:
            self.below[child] |= 1 << child
            for later in node.frees[child]:
                self.below[later] |= self.below[child]
                waits[later] -= 1
                if not waits[later]:
                    ready.append(later)
        for child in reversed(ready):
            self.above[child] |= 1 << child
            for later in node.frees[child]:
                self.above[child] |= self.above[later]

    def all(self) -> int:
        """The number of downward-closed sets."""
        return self._count(self.everything)

    def where_next(self, child: int) -> int:
        """The number of those from which `child` may come next."""
        return self._count(self.everything & ~self.below[child] & ~self.above[child])

    def _count(self, within: int) -> int:
        """Sets within a convex part: a product over its connected parts."""
        total = 1
        while within:
            part = self._connected(within)
            within &= ~part
            total *= self._count_connected(part)
        return total

    def _connected(self, within: int) -> int:
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
            self._looks += part.bit_count()
            if self._looks > COUNTING_STEPS:
                raise TooTangled
            x = max(_bits(part), key=lambda child: self._splits(child, part))
            # Without x its dependents are out; with x all it needs is in.
            self._known[part] = self._count(part & ~self.above[x]) + self._count(part & ~self.below[x])
        return self._known[part]

    def _splits(self, child: int, part: int) -> tuple[int, int]:
        """How well a child divides a part: the best connected one, in the middle of a chain rather than at its end."""
        below, above = (self.below[child] & part).bit_count(), (self.above[child] & part).bit_count()
        return below + above, -abs(below - above)


def _bits(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]
