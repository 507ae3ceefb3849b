"""How the folder of a run is recognised: by its ledger, the ledger's lock, or its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

MANIFEST, RECORDS, LEDGER = "manifest.json", "records.jsonl", "ledger.sqlite"

RUN_SCHEMA = "skillsv.run/"
"""How the schema of every manifest begins; the version follows."""

LEDGER_ID = b"SKSV"
"""The application id of a ledger, as it stands at byte 68 of an SQLite file."""


def holds_run(folder: Path) -> bool:
    """Whether the folder holds a run, or what is left of one. Nothing is written, not even SQLite's own files."""
    # The lock is made before the ledger, and the application id of a killed first run may still be in the log.
    return (folder / f"{LEDGER}.lock").is_file() or _is_ledger(folder / LEDGER) or _is_manifest(folder / MANIFEST)


def belongs_to_run(path: Path) -> bool:
    """Whether the path is a run's manifest, records or ledger, with the files that SQLite keeps beside it."""
    named = path.name in {MANIFEST, RECORDS} or path.name.startswith(LEDGER)
    return named and holds_run(path.parent)


def _is_ledger(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(72)[68:] == LEDGER_ID
    except OSError:
        return False


def _is_manifest(path: Path) -> bool:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, RecursionError):
        return False
    return str(found.get("schema", "")).startswith(RUN_SCHEMA)
