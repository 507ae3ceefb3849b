"""Counts and spending of all runs of a ledger, by SQL over the rows that were added since the last update."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

_NEW_ROWS = """
    SELECT run, max(id), count(score), count(failure), total(input_tokens), total(output_tokens), sum(usd),
           total(duration), max(saved)
    FROM rollout WHERE id > ? GROUP BY run
"""

_FAILURES = "SELECT run, failure, count(*) FROM rollout WHERE id > ? AND score IS NULL GROUP BY run, failure"

_FIRST_ROW = "SELECT min(id), max(id) FROM rollout"


@dataclass(slots=True)
class RunTotals:
    """What one run has in the ledger. `saved` is when its last rollout was saved, in seconds since 1970."""

    scored: int = 0
    missing: int = 0
    tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0
    saved: int | None = None
    failures: dict[str, int] = field(default_factory=dict)

    def add(self, other: RunTotals) -> None:
        """Add what another run or command has in the ledger."""
        self.scored += other.scored
        self.missing += other.missing
        self.tokens += other.tokens
        self.usd = self.usd if other.usd is None else (self.usd or 0.0) + other.usd
        self.seconds += other.seconds
        self.saved = max((time for time in (self.saved, other.saved) if time is not None), default=None)
        for kind, number in other.failures.items():
            self.failures[kind] = self.failures.get(kind, 0) + number


def belongs_to(name: str, run: str) -> bool:
    """Whether the ledger keeps the rollouts of a run, or of a later command of it (shrink, confirm), by this name."""
    return name == run or name.startswith(f"{run}-")


class LedgerTotals:
    """The totals of one ledger. An update reads only what is new, so it costs the same after 100,000 rollouts.

    `latest` is the name by which the last saved rollout is kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: dict[str, RunTotals] = defaultdict(RunTotals)
        self.latest = ""
        self._last = 0
        self._inode = 0

    def of_run(self, run: str) -> RunTotals:
        """What a run and the later commands of it have in the ledger."""
        found = RunTotals()
        for name, totals in self.runs.items():
            if belongs_to(name, run):
                found.add(totals)
        return found

    def update(self) -> None:
        """Read the new rows. A ledger that was replaced is read from its beginning; one that is gone has no rows."""
        try:
            inode = self.path.stat().st_ino
        except OSError:
            self._forget(0)
            return
        if inode != self._inode:
            self._forget(inode)
        try:
            with open_ledger(self.path) as connection:
                rows = connection.execute(_NEW_ROWS, (self._last,)).fetchall()
                failures = connection.execute(_FAILURES, (self._last,)).fetchall() if rows else []
        except sqlite3.Error:  # the ledger is being made, moved or damaged: what was known stays
            return
        for run, last, scored, missing, read, written, usd, seconds, saved in rows:
            totals = self.runs[run]
            totals.scored += scored
            totals.missing += missing
            totals.tokens += int(read + written)
            totals.usd = totals.usd if usd is None else (totals.usd or 0.0) + usd
            totals.seconds += seconds
            totals.saved = saved if saved is not None else totals.saved
            if last > self._last:
                self._last, self.latest = last, run
        for run, kind, number in failures:
            found = self.runs[run].failures
            found[kind] = found.get(kind, 0) + number

    def _forget(self, inode: int) -> None:
        self.runs.clear()
        self._last, self._inode, self.latest = 0, inode, ""


class open_ledger:  # noqa: N801 - used as a function
    """A connection that only reads, closed at the end of the block."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()
