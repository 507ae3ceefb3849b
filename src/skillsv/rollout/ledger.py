"""Every rollout that was ever paid for: SQLite in WAL mode, one writer, durable before anyone counts on it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from skillsv.errors import LedgerError
from skillsv.model.rollout import Ending, FailureKind, Rollout, RolloutFailure, RolloutKey, Usage
from skillsv.rollout.ledger_file import clear_errors, open_reader, open_writer, take_lock

_SUMS = "input_tokens, output_tokens, usd"
_NARROW = f"score, failure, message, {_SUMS}, duration, attempts, opened, task_id"

_FIND = f"SELECT {_NARROW} FROM rollout WHERE key = ? AND score IS NOT NULL"  # noqa: S608

# A scored rollout is never replaced. One that was missing is: its attempts and spending add up.
_SAVE = f"""
INSERT INTO rollout (key, tree, task, agent, replicate, run, {_NARROW})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    score = excluded.score, failure = excluded.failure, message = excluded.message, opened = excluded.opened,
    run = excluded.run, attempts = attempts + excluded.attempts, duration = duration + excluded.duration,
    input_tokens = CASE WHEN input_tokens IS NULL THEN excluded.input_tokens
                        ELSE input_tokens + coalesce(excluded.input_tokens, 0) END,
    output_tokens = CASE WHEN output_tokens IS NULL THEN excluded.output_tokens
                         ELSE output_tokens + coalesce(excluded.output_tokens, 0) END,
    usd = CASE WHEN usd IS NULL THEN excluded.usd ELSE usd + coalesce(excluded.usd, 0) END
WHERE score IS NULL
RETURNING id
"""  # noqa: S608

_DETAIL = "INSERT OR REPLACE INTO detail (id, answer, transcript) VALUES (?, ?, ?)"

_SUMMARY = """
SELECT count(score), count(*) - count(score), coalesce(sum(attempts), 0), sum(input_tokens), sum(output_tokens),
       sum(usd), coalesce(sum(duration), 0.0),
       count(*) FILTER (WHERE failure = 'cut-answer' OR (score IS NOT NULL AND message = 'cut'))
FROM rollout WHERE (?1 IS NULL OR run = ?1) AND (?2 IS NULL OR agent = ?2)
"""


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
class Detail:
    """What a person reads about one rollout."""

    answer: str
    transcript: str | None


class Ledger:
    """Finished rollouts by key, in one file that many may read and one run at a time may write."""

    def __init__(
        self, path: Path, reader: sqlite3.Connection, writer: sqlite3.Connection | None, lock: int | None
    ) -> None:
        self.path = path
        self._reader = reader
        self._writer = writer
        self._lock = lock

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Ledger:
        """Open the ledger at `path`, made if need be. A second writer is refused, and so is a file we cannot trust."""
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
        """Let go of the file and of the lock."""
        self._reader.close()
        if self._writer is not None:
            self._writer.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def lookup(self, keys: Iterable[RolloutKey]) -> dict[RolloutKey, Rollout]:
        """The scored rollouts among `keys`, without answer and transcript. One that is missing is no answer."""
        found = {}
        # One transaction: the file is locked once, not once per key.
        with clear_errors(self.path), _transaction(self._reader, "BEGIN"):
            for key in keys:
                row = self._reader.execute(_FIND, (_hash(key),)).fetchone()
                if row is not None:
                    found[key] = _rollout(key, row)
        return found

    def record(self, *rollouts: Rollout, run: str = "") -> None:
        """Save these, all in one transaction; when this returns they survive a crash and a power cut."""
        writer = self._writer
        if writer is None:
            raise LedgerError("this ledger was opened for reading only.", where=str(self.path))
        with clear_errors(self.path), _transaction(writer, "BEGIN IMMEDIATE"):
            for rollout in rollouts:
                saved = writer.execute(_SAVE, _row(rollout, run)).fetchone()
                if saved is not None and (rollout.answer or rollout.transcript is not None):
                    writer.execute(_DETAIL, (saved[0], _pack(rollout.answer), _pack(rollout.transcript)))

    def detail(self, key: RolloutKey) -> Detail | None:
        """Answer and transcript of one rollout, scored or missing."""
        query = "SELECT answer, transcript FROM detail JOIN rollout USING (id) WHERE key = ?"
        with clear_errors(self.path):
            row = self._reader.execute(query, (_hash(key),)).fetchone()
        return None if row is None else Detail(answer=_unpack(row[0]) or "", transcript=_unpack(row[1]))

    def summary(self, run: str | None = None, *, agent: str | None = None) -> Summary:
        """Counts and spending: of one run or of all, of one agent (by its fingerprint) or of all."""
        with clear_errors(self.path):
            row = self._reader.execute(_SUMMARY, (run, agent)).fetchone()
        scored, missing, attempts, given, taken, usd, seconds, cut = row
        usage = Usage(input_tokens=given, output_tokens=taken, usd=usd)
        return Summary(scored=scored, missing=missing, attempts=attempts, usage=usage, seconds=seconds, cut=cut)

    def failures(self, run: str | None = None) -> dict[FailureKind, int]:
        """How many rollouts are missing, by kind of failure."""
        query = (
            "SELECT failure, count(*) FROM rollout WHERE score IS NULL AND (?1 IS NULL OR run = ?1) GROUP BY failure"
        )
        with clear_errors(self.path):
            return {FailureKind(kind): count for kind, count in self._reader.execute(query, (run,))}


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """All or nothing: an error, also of the commit itself, takes everything back."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _hash(key: RolloutKey) -> bytes:
    # The parts are joined by a byte that no digest or fingerprint can hold, so that no two keys read the same.
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
    """The message of a scored rollout: how its answer ended, where that was not as usual."""
    return None if rollout.ending is Ending.ANSWERED else rollout.ending.value


def _rollout(key: RolloutKey, row: tuple[Any, ...]) -> Rollout:
    score, kind, message, given, taken, usd, duration, attempts, opened, task_id = row
    return Rollout(
        key=key,
        task_id=task_id,
        score=score,
        failure=None if kind is None else RolloutFailure(kind=FailureKind(kind), message=message),
        usage=Usage(input_tokens=given, output_tokens=taken, usd=usd),
        duration=duration,
        attempts=attempts,
        opened=None if opened is None else bool(opened),
        ending=Ending(message) if kind is None and message else Ending.ANSWERED,
    )


def _pack(text: str | None) -> bytes | None:
    return None if text is None else zlib.compress(text.encode("utf-8", errors="surrogatepass"), 6)


def _unpack(data: bytes | None) -> str | None:
    return None if data is None else zlib.decompress(data).decode("utf-8", errors="surrogatepass")
