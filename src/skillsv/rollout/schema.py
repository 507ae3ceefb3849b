"""The ledger's tables, and the steps that bring an older file up to date."""

from __future__ import annotations

import sqlite3

APPLICATION_ID = 0x53_4B_53_56
"""Marks the file as ours ("SKSV")."""

TABLES = ("rollout", "detail")

Migrations = tuple[tuple[str, ...], ...]

MIGRATIONS: Migrations = (
    (
        # Narrow rows, found by a short hash of the key: a lookup touches one index page and one data page.
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
        # What only a person reads lies apart, compressed.
        """
        CREATE TABLE detail (
            id INTEGER PRIMARY KEY REFERENCES rollout (id),
            answer BLOB NOT NULL,
            transcript BLOB
        )
        """,
    ),
)
"""One entry per schema version, each a sequence of statements; the file's version is `PRAGMA user_version`."""


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version of an open file; 0 where nothing was written yet."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_ours(connection: sqlite3.Connection) -> bool:
    """Whether the file is a ledger, or still empty."""
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    return mark == APPLICATION_ID or not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def migrate(connection: sqlite3.Connection, migrations: Migrations) -> None:
    """Apply what is missing, all or nothing: a kill in the middle leaves the older version intact."""
    done = version_of(connection)
    if done >= len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    for statements in migrations[done:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(migrations)}")
    connection.execute("COMMIT")
