"""A rollout that a policy has requested and that is not in the ledger yet, and the queue that saves finished ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from skillsv.errors import SkillSVError
from skillsv.model.rollout import Request, Rollout, RolloutKey, Usage
from skillsv.rollout.ledger import Ledger

SUSPECT_LOSSES = 2
"""After so many lost workers a rollout runs alone: if it kills its worker, no other rollout is lost with it."""


@dataclass(slots=True, eq=False)
class PendingRollout:
    """One requested rollout without a saved result. `rank` orders the queue.

    `losses` counts the workers that died with it; the first of them are no attempts. `reductions` and
    `rate_reductions` are the counts of the concurrency limit and of the provider's limit at the start of the current
    attempt. `abandoned`: the run stopped before there was a result.
    `postponed`: it crashed before any rollout succeeded, so other tasks run first. `done` is set when it is saved or
    abandoned.
    """

    request: Request
    key: RolloutKey
    rank: tuple[int, int]
    attempt: int = 0
    losses: int = 0
    reductions: int = 0
    rate_reductions: int = 0
    usage: Usage = field(default_factory=Usage)
    rollout: Rollout | None = None
    abandoned: bool = False
    postponed: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)

    @property
    def suspect(self) -> bool:
        """Whether it may be the cause of its workers' deaths."""
        return self.losses >= SUSPECT_LOSSES

    def __lt__(self, other: PendingRollout) -> bool:
        return (self.postponed, self.rank) < (other.postponed, other.rank)


class SaveQueue:
    """Writes finished rollouts to the ledger: all that wait are one transaction.

    `on_saved` is called with each batch that is in the ledger, `on_failed` with a batch that cannot be saved.
    `require_unchanged` is called before each batch, in the saving thread; what it raises keeps the batch from being
    saved: another agent may have given these answers.
    """

    def __init__(
        self,
        ledger: Ledger,
        run: str,
        *,
        on_saved: Callable[[list[PendingRollout]], None],
        on_failed: Callable[[list[PendingRollout], SkillSVError], None],
        require_unchanged: Callable[[], None] = lambda: None,
    ) -> None:
        self._ledger = ledger
        self._run = run
        self._on_saved = on_saved
        self._on_failed = on_failed
        self._require_unchanged = require_unchanged
        self._waiting: list[PendingRollout] = []
        self._changed = anyio.Event()
        self._closed = False
        self.unsaved = 0
        # A thread of its own: agents that are plain functions may hold all threads of the shared pool for minutes.
        self._thread = anyio.CapacityLimiter(1)

    @property
    def closed(self) -> bool:
        """Whether nothing more may be added."""
        return self._closed

    def open(self) -> None:
        """Begin anew; rollouts that an earlier use could not save are not counted any more."""
        self._closed = False
        self.unsaved = 0

    def add(self, pending: PendingRollout) -> None:
        """Save this finished rollout soon."""
        self._waiting.append(pending)
        self.unsaved += 1
        self._changed.set()

    def close(self) -> None:
        """Nothing more will be added: `save_all` ends when the rest is saved."""
        self._closed = True
        self._changed.set()

    async def save_all(self) -> None:
        """Save what is added, until closed. A cancellation waits for it."""
        with anyio.CancelScope(shield=True):
            while self._waiting or not self._closed:
                if not self._waiting:
                    self._changed = anyio.Event()
                    await self._changed.wait()
                    continue
                batch, self._waiting = self._waiting, []
                try:
                    await self._save(batch)
                except SkillSVError as error:
                    self._on_failed(batch, error)
                    return

    async def _save(self, batch: list[PendingRollout]) -> None:
        rollouts = [pending.rollout for pending in batch if pending.rollout is not None]

        def save() -> None:
            self._require_unchanged()
            self._ledger.record(*rollouts, run=self._run)

        await anyio.to_thread.run_sync(save, limiter=self._thread)
        self.unsaved -= len(batch)
        self._on_saved(batch)
