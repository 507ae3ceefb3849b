"""The file names of a run folder, and the check whether a folder holds a run.

`rollout` writes these files. Commands that write elsewhere use the check to leave the user's runs alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

MANIFEST = "manifest.json"
"""Settings, versions, seeds and fingerprints of the run."""

RECORDS = "records.jsonl"
"""Finished chains or observations, one JSON object a line."""

LEDGER = "ledger.sqlite"
"""All paid rollouts."""

RUN_SCHEMA = "skillsv.run/"
"""The beginning of the field `schema` in every manifest; the version follows."""

LEDGER_ID = b"SKSV"
"""The application id of a ledger: bytes 68 to 71 of the SQLite file."""


def holds_run(folder: Path) -> bool:
    """Whether the folder holds a run or the remains of one. It only reads: SQLite does not open the ledger."""
    # A run that is killed early leaves only the lock, or a ledger whose application id is still in SQLite's log.
    return (folder / f"{LEDGER}.lock").is_file() or _is_ledger(folder / LEDGER) or _is_manifest(folder / MANIFEST)


def belongs_to_run(path: Path) -> bool:
    """Whether the path is the manifest, the records or the ledger of a run, or a file that SQLite keeps beside it."""
    has_run_name = path.name in {MANIFEST, RECORDS} or path.name.startswith(LEDGER)
    return has_run_name and holds_run(path.parent)


def _is_ledger(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(72)[68:] == LEDGER_ID
    except OSError:
        return False


def _is_manifest(path: Path) -> bool:
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return str(manifest.get("schema", "")).startswith(RUN_SCHEMA)
