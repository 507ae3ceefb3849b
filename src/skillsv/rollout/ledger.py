"""The ledger: every paid rollout, in an SQLite file (WAL mode, one writer) that survives a crash."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from skillsv.errors import LedgerError
from skillsv.model.rollout import Ending, FailureKind, Rollout, RolloutFailure, RolloutKey, Usage
from skillsv.rollout.ledger_file import (
    explain_ledger_errors,
    open_reader,
    open_writer,
    take_lock,
    version_of,
)
from skillsv.rollout.stored_rollouts import StoredGroup

_COLUMNS = "score, failure, message, input_tokens, output_tokens, usd, duration, attempts, opened, task_id"

_FIND = f"SELECT {_COLUMNS}, id, run, saved FROM rollout WHERE key = ? AND score IS NOT NULL"  # noqa: S608

TAKEN_OVER = "taken over unchecked"
"""The name of the run of rollouts that `--reuse-unchecked` has copied to other keys."""

_GROUPS = """
SELECT task, agent, count(*), min(saved) FROM rollout WHERE score IS NOT NULL GROUP BY task, agent ORDER BY max(id)
"""

_DURATIONS = """
SELECT task, count(*), sum(duration) FROM rollout
WHERE id > (SELECT max(id) FROM rollout) - ? AND agent = ? AND score IS NOT NULL GROUP BY task
"""

TIMED_ROLLOUTS = 10_000
"""Rollouts whose durations are read, the latest ones: a ledger may hold a million."""

_TIMED_VERSION = 2
"""The first schema version with the column `saved`. A ledger of an earlier version that is only read has none."""

_COPY = f"""
INSERT OR IGNORE INTO rollout (key, tree, task, agent, replicate, run, {_COLUMNS}, saved)
SELECT ?, tree, ?, ?, replicate, '{TAKEN_OVER}', {_COLUMNS}, saved FROM rollout WHERE id = ?
RETURNING id
"""  # noqa: S608

# A scored rollout is never replaced. A missing one is: its attempts and its spending are added up.
_SAVE = f"""
INSERT INTO rollout (key, tree, task, agent, replicate, run, {_COLUMNS}, saved)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(strftime('%s', 'now') AS INTEGER))
ON CONFLICT (key) DO UPDATE SET
    score = excluded.score, failure = excluded.failure, message = excluded.message, opened = excluded.opened,
    run = excluded.run, saved = excluded.saved,
    attempts = attempts + excluded.attempts, duration = duration + excluded.duration,
    input_tokens = CASE WHEN input_tokens IS NULL THEN excluded.input_tokens
                        ELSE input_tokens + coalesce(excluded.input_tokens, 0) END,
    output_tokens = CASE WHEN output_tokens IS NULL THEN excluded.output_tokens
                         ELSE output_tokens + coalesce(excluded.output_tokens, 0) END,
    usd = CASE WHEN usd IS NULL THEN excluded.usd ELSE usd + coalesce(excluded.usd, 0) END
WHERE score IS NULL
RETURNING id
"""  # noqa: S608

_DETAIL = "INSERT OR REPLACE INTO detail (id, answer, transcript) VALUES (?, ?, ?)"

_RENDERINGS = """
SELECT run, task, agent, tree, score FROM rollout
WHERE score IS NOT NULL AND task IN (SELECT task FROM rollout WHERE substr(run, -length(:ending)) = :ending)
ORDER BY id
"""

_SUMMARY = """
SELECT count(score), count(*) - count(score), coalesce(sum(attempts), 0), sum(input_tokens), sum(output_tokens),
       sum(usd), coalesce(sum(duration), 0.0),
       count(*) FILTER (WHERE failure = 'cut-answer' OR (score IS NOT NULL AND message = 'cut'))
FROM rollout WHERE (:run IS NULL OR run = :run) AND (:agent IS NULL OR agent = :agent)
"""

_COMMANDS = """
SELECT substr(run, length(:run) + 2), count(*), sum(input_tokens), sum(output_tokens), sum(usd),
       coalesce(sum(duration), 0.0)
FROM rollout WHERE substr(run, 1, length(:run) + 1) = :run || '-' GROUP BY run ORDER BY run
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpending:
    """What a command spent on a stored run: rollouts or calls of an editor, what they used, agent seconds."""

    rollouts: int
    usage: Usage
    seconds: float = 0.0

    def __add__(self, other: CommandSpending) -> CommandSpending:
        return CommandSpending(
            rollouts=self.rollouts + other.rollouts,
            usage=self.usage + other.usage,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the ledger holds: scored and missing rollouts, all attempts, what they used, agent seconds.

    `cut` counts answers that the token limit cut, scored or missing.
    """

    scored: int
    missing: int
    attempts: int
    usage: Usage
    seconds: float
    cut: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRendering:
    """The score of one rendering on one task, by their digests, and the run that paid for it."""

    run: str
    task: str
    agent: str
    tree: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """Answer and transcript of one rollout, for people to read."""

    answer: str
    transcript: str | None


@dataclass(slots=True, kw_only=True)
class Reused:
    """Stored rollouts of an agent that this session reused from earlier ones. `since` is when the oldest was saved."""

    rollouts: int = 0
    taken_over: int = 0
    since: int | None = None


class Ledger:
    """Finished rollouts by key, in one file. Many processes may read it; one run at a time may write."""

    def __init__(
        self, path: Path, reader: sqlite3.Connection, writer: sqlite3.Connection | None, lock: int | None
    ) -> None:
        self.path = path
        self._reader = reader
        self._writer = writer
        self._lock = lock
        self._timed = version_of(reader) >= _TIMED_VERSION
        self._writing = threading.Lock()  # runs that share this ledger save in threads of their own
        self.reused: defaultdict[str, Reused] = defaultdict(Reused)  # by agent fingerprint
        self._known: set[int] = set()  # rows that this session has saved, or has counted as reused

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Ledger:
        """Open the ledger at `path`, or create it. A second writer and a damaged or foreign file are refused."""
        if read_only:
            return cls(path, open_reader(path), None, None)
        lock = take_lock(path)
        try:
            writer = open_writer(path)
            return cls(path, open_reader(path), writer, lock)
        except BaseException:
            os.close(lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release the lock."""
        self._reader.close()
        if self._writer is not None:
            self._writer.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def lookup(self, keys: Iterable[RolloutKey], *, counted: bool = True) -> dict[RolloutKey, Rollout]:
        """The scored rollouts among `keys`, without answer and transcript. Missing rollouts are left out.

        `counted`: those of earlier sessions count as reused.
        """
        rollouts = {}
        find = self._with_time(_FIND)
        # One transaction: the file is locked once, not once per key.
        with explain_ledger_errors(self.path), _transaction(self._reader, "BEGIN"):
            for key in keys:
                row = self._reader.execute(find, (_hash(key),)).fetchone()
                if row is not None:
                    *columns, row_id, run, saved = row
                    rollouts[key] = _rollout(key, tuple(columns))
                    if counted:
                        self._count_reused(key.agent, row_id, run, saved)
        return rollouts

    def _with_time(self, query: str) -> str:
        """The query, without the time where the file does not have it."""
        return query if self._timed else query.replace("min(saved)", "NULL").replace("saved", "NULL")

    def _count_reused(self, agent: str, row_id: int, run: str, saved: int | None) -> None:
        if row_id in self._known:
            return
        self._known.add(row_id)
        reused = self.reused[agent]
        reused.rollouts += 1
        reused.taken_over += run == TAKEN_OVER
        if saved is not None:
            reused.since = min(saved, reused.since or saved)

    def record(self, *rollouts: Rollout, run: str = "") -> None:
        """Save these rollouts in one transaction; on return they survive a crash and a power cut."""
        writer = self._writer
        if writer is None:
            raise LedgerError("this ledger was opened for reading only.", where=str(self.path))
        with explain_ledger_errors(self.path), self._writing, _transaction(writer, "BEGIN IMMEDIATE"):
            for rollout in rollouts:
                saved = writer.execute(_SAVE, _row(rollout, run)).fetchone()
                if saved is not None:
                    self._known.add(saved[0])
                if saved is not None and (rollout.answer or rollout.transcript is not None):
                    writer.execute(_DETAIL, (saved[0], _compress(rollout.answer), _compress(rollout.transcript)))

    def groups(self) -> list[StoredGroup]:
        """The scored rollouts by task digest and agent fingerprint, those saved last at the end."""
        with explain_ledger_errors(self.path):
            rows = self._reader.execute(self._with_time(_GROUPS)).fetchall()
        return [
            StoredGroup(task=task, agent=agent, rollouts=number, since=since) for task, agent, number, since in rows
        ]

    def durations(self, agent: str) -> dict[str, tuple[int, float]]:
        """For each task digest the number of this agent's latest scored rollouts, and the sum of their seconds."""
        with explain_ledger_errors(self.path):
            rows = self._reader.execute(_DURATIONS, (TIMED_ROLLOUTS, agent)).fetchall()
        return {task: (number, seconds) for task, number, seconds in rows}

    def tasks_of_runs(self) -> set[tuple[str, str]]:
        """The digest of every task that was scored, with the name of the run that scored it."""
        with explain_ledger_errors(self.path):
            rows = self._reader.execute("SELECT DISTINCT task, run FROM rollout WHERE score IS NOT NULL").fetchall()
        return {(task, run) for task, run in rows}

    def renderings_of(self, ending: str) -> list[ScoredRendering]:
        """All that was scored, in the order of saving, on tasks that a run whose name ends like this has asked."""
        with explain_ledger_errors(self.path):
            rows = self._reader.execute(_RENDERINGS, {"ending": ending}).fetchall()
        return [
            ScoredRendering(run=run, task=task, agent=agent, tree=tree, score=score)
            for run, task, agent, tree, score in rows
        ]

    def copy_rollouts(self, keys: Mapping[tuple[str, str], tuple[str, str]]) -> int:
        """Copy scored rollouts to other keys: from task digest and fingerprint to task digest and fingerprint.

        A rollout that is stored under the new key already stays; of several, the one saved last is copied. Returns how
        many were copied.
        """
        writer = self._writer
        if writer is None:
            raise LedgerError("this ledger was opened for reading only.", where=str(self.path))
        copied = 0
        find = "SELECT id, tree, replicate FROM rollout WHERE task = ? AND agent = ? AND score IS NOT NULL"
        with explain_ledger_errors(self.path), self._writing, _transaction(writer, "BEGIN IMMEDIATE"):
            for old, (task, agent) in reversed(list(keys.items())):
                for row, tree, replicate in writer.execute(find, old).fetchall():
                    key = RolloutKey(tree=tree, task=task, agent=agent, replicate=replicate)
                    new = writer.execute(_COPY, (_hash(key), task, agent, row)).fetchone()
                    if new is not None:
                        copy = "INSERT OR IGNORE INTO detail SELECT ?, answer, transcript FROM detail WHERE id = ?"
                        writer.execute(copy, (new[0], row))
                        copied += 1
        return copied

    def drop_copies(self, agent: str) -> None:
        """Remove the copies that `copy_rollouts` made for this agent fingerprint. The rollouts that they copy stay."""
        writer = self._writer
        if writer is None:
            raise LedgerError("this ledger was opened for reading only.", where=str(self.path))
        copies = "FROM rollout WHERE run = ? AND agent = ?"
        with explain_ledger_errors(self.path), self._writing, _transaction(writer, "BEGIN IMMEDIATE"):
            writer.execute(f"DELETE FROM detail WHERE id IN (SELECT id {copies})", (TAKEN_OVER, agent))  # noqa: S608
            writer.execute(f"DELETE {copies}", (TAKEN_OVER, agent))

    def detail(self, key: RolloutKey) -> Detail | None:
        """Answer and transcript of one rollout, scored or missing."""
        query = "SELECT answer, transcript FROM detail JOIN rollout USING (id) WHERE key = ?"
        with explain_ledger_errors(self.path):
            row = self._reader.execute(query, (_hash(key),)).fetchone()
        return None if row is None else Detail(answer=_decompress(row[0]) or "", transcript=_decompress(row[1]))

    def summary(self, run: str | None = None, *, agent: str | None = None) -> Summary:
        """Counts and spending: of one run or of all, of one agent (by its fingerprint) or of all."""
        with explain_ledger_errors(self.path):
            row = self._reader.execute(_SUMMARY, {"run": run, "agent": agent}).fetchone()
        scored, missing, attempts, input_tokens, output_tokens, usd, seconds, cut = row
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, usd=usd)
        return Summary(scored=scored, missing=missing, attempts=attempts, usage=usage, seconds=seconds, cut=cut)

    def commands(self, run: str) -> dict[str, CommandSpending]:
        """What the commands after the valuation of this run spent (confirm, baselines, pairs), by their names."""
        with explain_ledger_errors(self.path):
            rows = self._reader.execute(_COMMANDS, {"run": run}).fetchall()
        return {
            name: CommandSpending(
                rollouts=number,
                usage=Usage(input_tokens=input_tokens, output_tokens=output_tokens, usd=usd),
                seconds=seconds,
            )
            for name, number, input_tokens, output_tokens, usd, seconds in rows
        }

    def failures(self, run: str | None = None) -> dict[FailureKind, int]:
        """How many rollouts are missing, by kind of failure."""
        query = (
            "SELECT failure, count(*) FROM rollout "
            "WHERE score IS NULL AND (:run IS NULL OR run = :run) GROUP BY failure"
        )
        with explain_ledger_errors(self.path):
            return {FailureKind(kind): count for kind, count in self._reader.execute(query, {"run": run})}


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """All or nothing: an error, also one of the commit itself, rolls everything back."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _hash(key: RolloutKey) -> bytes:
    # No digest or fingerprint contains the joining byte, so two different keys never give the same text.
    text = f"{key.tree}\0{key.task}\0{key.agent}\0{key.replicate}"
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _row(rollout: Rollout, run: str) -> tuple[Any, ...]:
    key, failure, usage = rollout.key, rollout.failure, rollout.usage
    return (
        *(_hash(key), key.tree, key.task, key.agent, key.replicate, run),
        rollout.score,
        None if failure is None else failure.kind.value,
        _ending_word(rollout) if failure is None else failure.message,
        *(usage.input_tokens, usage.output_tokens, usage.usd),
        rollout.duration,
        rollout.attempts,
        rollout.opened,
        rollout.task_id,
    )


def _ending_word(rollout: Rollout) -> str | None:
    """The message of a scored rollout: how its answer ended, None if as usual."""
    return None if rollout.ending is Ending.ANSWERED else rollout.ending.value


def _rollout(key: RolloutKey, row: tuple[Any, ...]) -> Rollout:
    score, kind, message, input_tokens, output_tokens, usd, duration, attempts, opened, task_id = row
    return Rollout(
        key=key,
        task_id=task_id,
        score=score,
        failure=None if kind is None else RolloutFailure(kind=FailureKind(kind), message=message),
        usage=Usage(input_tokens=input_tokens, output_tokens=output_tokens, usd=usd),
        duration=duration,
        attempts=attempts,
        opened=None if opened is None else bool(opened),
        ending=Ending(message) if kind is None and message else Ending.ANSWERED,
    )


def _compress(text: str | None) -> bytes | None:
    return None if text is None else zlib.compress(text.encode("utf-8", errors="surrogatepass"), 6)


def _decompress(data: bytes | None) -> str | None:
    return None if data is None else zlib.decompress(data).decode("utf-8", errors="surrogatepass")
