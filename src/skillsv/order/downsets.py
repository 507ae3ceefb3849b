"""The sets of finished children that can occur at one block: counted without listing, or listed with their odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skillsv.order.blocks import Node

COUNTING_STEPS = 200_000
"""Sub-problems after which counting gives up: only tangled block graphs of dozens of blocks come near."""


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
    needs = [_words([position in row for position in range(size)]) for row in node.prerequisites]
    single = [_words([position == child for position in range(size)]) for child in range(size)]
    level: NDArray[np.uint64] = np.zeros((1, needs[0].size), dtype=np.uint64)
    chance: NDArray[np.float64] = np.ones(1)
    levels, chances, first = [level], [chance], 0
    steps: list[list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]] = [[] for _ in range(size)]
    for _ in range(size):
        free = np.stack(
            [
                ((level & need) == need).all(axis=1) & ~(level & bit).any(axis=1)
                for need, bit in zip(needs, single, strict=True)
            ]
        )
        share = chance / free.sum(axis=0)
        rows = [np.flatnonzero(column) for column in free]
        grown = np.concatenate([level[row] | bit for row, bit in zip(rows, single, strict=True)])
        weight = np.concatenate([share[row] for row in rows])
        following, place = _distinct(grown)
        ends = np.split(place + first + len(level), np.cumsum([len(row) for row in rows])[:-1])
        for child, (row, end) in enumerate(zip(rows, ends, strict=True)):
            steps[child].append((row + first, end, share[row]))
        first += len(level)
        level, chance = following, np.bincount(place, weights=weight, minlength=len(following)).astype(np.float64)
        levels.append(level)
        chances.append(chance)
    return Downsets(
        members=_unpacked(np.concatenate(levels), size),
        probability=np.concatenate(chances),
        before=tuple(np.concatenate([step[0] for step in child]) for child in steps),
        after=tuple(np.concatenate([step[1] for step in child]) for child in steps),
        choice=tuple(np.concatenate([step[2] for step in child]) for child in steps),
    )


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


class Counter:
    """Counts the downward-closed sets of one block graph, exactly, by splitting it into independent parts."""

    def __init__(self, node: Node) -> None:
        size = len(node.children)
        self.everything = (1 << size) - 1
        self.below = [0] * size
        self.above = [0] * size
        self._reach(node)
        self._known: dict[int, int] = {0: 1}

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
            if len(self._known) > COUNTING_STEPS:
                raise TooTangled
            # Without x its dependents are out; with x all it needs is in. The best connected x splits most.
            x = max(_bits(part), key=lambda child: ((self.below[child] | self.above[child]) & part).bit_count())
            self._known[part] = self._count(part & ~self.above[x]) + self._count(part & ~self.below[x])
        return self._known[part]


def _bits(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]
