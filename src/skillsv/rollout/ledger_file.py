"""The file of the ledger: its tables and migrations, the lock of the writer, the connections, and clear errors."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillsv.errors import LedgerError

APPLICATION_ID = 0x53_4B_53_56
"""The number in the file's header that marks it as a ledger of SkillSV (the letters "SKSV")."""

TABLES = ("rollout", "detail")
"""The tables that every ledger has."""

Migrations = tuple[tuple[str, ...], ...]

MIGRATIONS: Migrations = (
    (
        # Rows without long text, found by a short hash of the key: a lookup reads one index page and one data page.
        """
        CREATE TABLE rollout (
            id INTEGER PRIMARY KEY,
            key BLOB NOT NULL UNIQUE,
            tree TEXT NOT NULL,
            task TEXT NOT NULL,
            agent TEXT NOT NULL,
            replicate INTEGER NOT NULL,
            task_id TEXT NOT NULL,
            score REAL,
            failure TEXT,
            message TEXT,
            input_tokens INTEGER,
            output_tokens INTEGER,
            usd REAL,
            duration REAL NOT NULL,
            attempts INTEGER NOT NULL,
            opened INTEGER,
            run TEXT NOT NULL,
            CHECK ((score IS NULL) <> (failure IS NULL)),
            CHECK (score IS NULL OR score BETWEEN 0 AND 1)
        )
        """,
        # Long text that only people read, compressed.
        """
        CREATE TABLE detail (
            id INTEGER PRIMARY KEY REFERENCES rollout (id),
            answer BLOB NOT NULL,
            transcript BLOB
        )
        """,
    ),
    # When a rollout was saved, in seconds since 1970; NULL for those of earlier versions.
    ("ALTER TABLE rollout ADD COLUMN saved INTEGER",),
)
"""One entry per schema version, each a sequence of statements; the file's version is `PRAGMA user_version`."""


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version of an open file; 0 where nothing was written yet."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_ours(connection: sqlite3.Connection) -> bool:
    """Whether the file is a ledger or still empty."""
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    return (
        application_id == APPLICATION_ID or not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    )


def migrate(connection: sqlite3.Connection, migrations: Migrations) -> None:
    """Apply the missing migrations in one transaction: a kill during it leaves the older version intact."""
    version = version_of(connection)
    if version >= len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    for statements in migrations[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(migrations)}")
    connection.execute("COMMIT")


FULL_CHECK_LIMIT = 16 * 2**20
"""Ledgers up to this many bytes are checked completely when opened; larger ones when their pages are read."""

BUSY_SECONDS = 60.0
"""How many seconds the writer waits for another program that locks the file, before paid rollouts are lost."""

SYNCHRONOUS = "FULL"
"""Every commit reaches the disk before it returns. Only tests relax this."""

_FULL = ("the disk is full.", "Free some space and run the same command again: it resumes.")

_FULL_BYTES = 64 * 1024
"""Where fewer bytes are free, an error of the disk is that of a full one: SQLite needs whole pages."""

_ERRORS = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: (
        "the disk refused to read or write.",
        "Check its space and health, then run the same command again: it resumes.",
    ),
    sqlite3.SQLITE_READONLY: ("the ledger cannot be written.", "Make it writable or choose another --run-dir."),
    sqlite3.SQLITE_PERM: ("the ledger may not be opened.", "Change its permissions or choose another --run-dir."),
    sqlite3.SQLITE_CANTOPEN: ("the ledger cannot be opened.", "Check the path and its permissions."),
    sqlite3.SQLITE_BUSY: ("another program has locked the ledger.", "Close it, or give this run its own --run-dir."),
    sqlite3.SQLITE_LOCKED: ("another program has locked the ledger.", "Close it, or give this run its own --run-dir."),
}
_DAMAGED = ("the ledger is damaged; it was left as it is.", "Restore a copy of it, or move it away to start anew.")


@contextmanager
def explain_ledger_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into a LedgerError that says what is wrong and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        what, hint = _DAMAGED if code is None else _ERRORS.get(code & 0xFF, _DAMAGED)
        if _is_full(path, code, error):
            what, hint = _FULL
        raise LedgerError(what, where=str(path), hint=f"{hint} ({error})") from error
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            what, hint = _FULL
            raise LedgerError(what, where=str(path), hint=f"{hint} ({error.strerror})") from error
        what = f"the ledger cannot be opened: {error.strerror or error}."
        raise LedgerError(what, where=str(path), hint="Choose a --run-dir that can be written.") from error


def _is_full(path: Path, code: int | None, error: sqlite3.Error) -> bool:
    """Whether a full disk is the cause. Some errors have no code, and a log that cannot be created has another one."""
    if code is None:
        return "disk is full" in str(error)
    if code & 0xFF not in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}:
        return False
    try:
        return shutil.disk_usage(path.parent).free < _FULL_BYTES
    except OSError:
        return False


def take_lock(path: Path) -> int:
    """Become the only writer until the returned descriptor is closed or the process ends, also by a crash."""
    with explain_ledger_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        writer = os.read(lock, 32).decode(errors="replace").strip()
        os.close(lock)
        raise LedgerError(
            f"another run{f' (process {writer})' if writer else ''} is writing to this ledger.",
            where=str(path),
            hint="Wait until it ends or stop it, or give this run its own --run-dir.",
        ) from error
    # The number of the process is only for the message above: a disk that refuses it is no reason to stop.
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
    except OSError:
        return lock
    return lock


def is_locked(path: Path) -> bool:
    """Whether a run is writing to this ledger now."""
    try:
        lock = os.open(path.with_name(path.name + ".lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def open_writer(path: Path) -> sqlite3.Connection:
    """The connection that writes. The file is checked first, then migrated; every commit reaches the disk."""
    with explain_ledger_errors(path):
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=16
        )
        try:
            check(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            migrate(connection, MIGRATIONS)
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads. It sees the commits of a running writer, and opens files on a read-only disk."""
    if not path.is_file():
        raise LedgerError("there is no ledger here.", where=str(path), hint="Run `skillsv value` first.")
    with explain_ledger_errors(path):
        connection = _connect_reading(path, "mode=ro")
        try:
            try:
                version_of(connection)
            except sqlite3.OperationalError:
                # A read-only folder cannot hold the shared-memory file; without a log beside it the file is complete.
                if path.with_name(path.name + "-wal").exists():
                    raise
                connection.close()
                connection = _connect_reading(path, "mode=ro&immutable=1")
            check(connection, path)
            if version_of(connection) == 0:
                # A run ended before it made the tables, for example because the disk was full: nothing is in it.
                connection.close()
                connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                migrate(connection, MIGRATIONS)
        except BaseException:
            connection.close()
            raise
    return connection


def _connect_reading(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=16,
    )


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a ledger, is newer than this program, or is damaged. Writes nothing."""
    version = version_of(connection)
    if not is_ours(connection):
        raise LedgerError(
            "this file is a database of another program.", where=str(path), hint="Choose another --run-dir."
        )
    if version > len(MIGRATIONS):
        raise LedgerError(
            f"the ledger has schema {version}, this SkillSV knows {len(MIGRATIONS)}.",
            where=str(path),
            hint="Update SkillSV, or choose another --run-dir.",
        )
    if version == 0:
        return
    for table in TABLES:
        connection.execute(f"SELECT * FROM {table} ORDER BY id DESC LIMIT 1").fetchone()  # noqa: S608
    if path.stat().st_size <= FULL_CHECK_LIMIT:
        result = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        if result != "ok":
            what, hint = _DAMAGED
            raise LedgerError(what, where=str(path), hint=f"{hint} ({result.splitlines()[-1]})")
