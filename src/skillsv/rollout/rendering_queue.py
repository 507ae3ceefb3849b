"""The queue of rollouts that wait for a slot. Where there is other work, the rollouts of a rendering follow its first.

Services keep the beginning of a prompt, which holds the skill, once they have answered it: a rollout with the same
rendering that starts later is cheaper and faster. A slot never stays idle for that.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from collections.abc import Iterator

from skillsv.rollout.pending import PendingRollout

ANSWERED_KEPT = 4096
"""Renderings with an answer that are remembered, the latest ones: services forget them after minutes, too."""


class RenderingQueue:
    """Pending rollouts in the order of their ranks, except that followers wait while the first of a rendering runs."""

    def __init__(self) -> None:
        self._ready: list[PendingRollout] = []
        self._held: dict[str, list[PendingRollout]] = {}  # followers, by rendering
        self._running: Counter[str] = Counter()  # rollouts of renderings that have no answer yet
        self._answered: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ready) + sum(map(len, self._held.values()))

    def __bool__(self) -> bool:
        return bool(self._ready or self._held)

    def __iter__(self) -> Iterator[PendingRollout]:
        yield from self._ready
        for held in self._held.values():
            yield from held

    def clear(self) -> None:
        """Remove all rollouts, and forget what runs."""
        self._ready.clear()
        self._held.clear()
        self._running.clear()

    def push(self, pending: PendingRollout) -> None:
        """Add a rollout."""
        heapq.heappush(self._ready, pending)

    def restore_order(self) -> None:
        """Order anew, after the ranks of queued rollouts changed."""
        heapq.heapify(self._ready)
        for held in self._held.values():
            heapq.heapify(held)

    def pop(self) -> PendingRollout:
        """Remove and return the rollout to start now: the first that is no follower, or else the first follower."""
        while self._ready:
            pending = heapq.heappop(self._ready)
            tree = pending.key.tree
            if tree in self._answered:
                self._answered.move_to_end(tree)
                return pending
            if not self._running[tree]:
                self._running[tree] = 1
                return pending
            heapq.heappush(self._held.setdefault(tree, []), pending)
        tree = min(self._held, key=lambda name: self._held[name][0])
        pending = heapq.heappop(self._held[tree])
        if not self._held[tree]:
            del self._held[tree]
        self._running[tree] += 1
        return pending

    def note_end(self, pending: PendingRollout, *, answered: bool) -> None:
        """An attempt ended. Followers may start once the rendering has an answer, or when none of it runs any more."""
        tree = pending.key.tree
        self._running[tree] -= 1
        if answered:
            self._answered[tree] = None
            self._answered.move_to_end(tree)
            if len(self._answered) > ANSWERED_KEPT:
                self._answered.popitem(last=False)
        if answered or self._running[tree] <= 0:
            del self._running[tree]
            for follower in self._held.pop(tree, ()):
                self.push(follower)
