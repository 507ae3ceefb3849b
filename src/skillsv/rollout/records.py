"""Chain records, observations and anchors of the panel as lines of JSON, tagged with their schema."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import RecordsError
from skillsv.model.coalition import ChainRecord, Observation, PanelAnchors

Record = ChainRecord | Observation | PanelAnchors

SCHEMAS: dict[str, type[Record]] = {
    "skillsv.chain/1": ChainRecord,
    "skillsv.observation/1": Observation,
    "skillsv.anchors/1": PanelAnchors,
}
"""The type of record by the schema's name in the file."""

CHECKSUMS = "records.crc32"
"""The file with the checksum of every line of the records: a digit that changed on disk would change a value."""

_NAMES = {kind: name for name, kind in SCHEMAS.items()}


class _TaggedRecord(msgspec.Struct):
    schema: str
    record: Record


class _Line(msgspec.Struct):
    schema: str
    record: msgspec.Raw


_ENCODER = msgspec.json.Encoder(order="deterministic")
_LINE = msgspec.json.Decoder(_Line)
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {name: msgspec.json.Decoder(kind) for name, kind in SCHEMAS.items()}


def encode_record(record: Record) -> bytes:
    """One line, newline included; the same record gives the same bytes."""
    return _ENCODER.encode(_TaggedRecord(_NAMES[type(record)], record)) + b"\n"


def read_records(path: Path) -> Iterator[Record]:
    """All records in the order they were written. A torn last line (from a crash while writing) is skipped."""
    if not path.exists():
        return
    checksums = _read_checksums(path)
    number = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                if number <= len(checksums) and checksums[number - 1] != checksum(line):
                    raise _damaged("this line was changed or damaged since it was written.", f"{path}:{number}")
                yield _decode(line, f"{path}:{number}")
    if number < len(checksums):
        raise _damaged(f"{len(checksums) - number} lines are missing at the end.", str(path))


def checksum(line: bytes) -> bytes:
    """Eight hexadecimal digits over one line."""
    return b"%08x" % zlib.crc32(line)


def checksum_file(path: Path) -> Path:
    """The file beside the records with one checksum a line. Runs of earlier versions have none."""
    return path.with_name(CHECKSUMS)


def _read_checksums(path: Path) -> list[bytes]:
    """The checksums of the lines. A crash may have lost the last ones: the lines without one are read unchecked."""
    try:
        lines = checksum_file(path).read_bytes().splitlines(keepends=True)
    except OSError:
        return []
    return [line.strip() for line in lines if line.endswith(b"\n")]


def _damaged(what: str, where: str) -> RecordsError:
    hint = f"Restore a copy, or move {CHECKSUMS} and the records away: the same 'skillsv value' fills new ones."
    return RecordsError(what, where=where, hint=hint)


def _decode(line: bytes, where: str) -> Record:
    try:
        tagged = _LINE.decode(line)
        decoder = _DECODERS.get(tagged.schema)
        if decoder is not None:
            record: Record = decoder.decode(tagged.record)
            return record
    except msgspec.DecodeError as error:
        raise RecordsError(
            f"this line is no record ({error}).", where=where, hint="Move the file away; the ledger fills a new one."
        ) from error
    raise RecordsError(
        f"this record has the schema {tagged.schema!r}, which this SkillSV does not know.",
        where=where,
        hint="Update SkillSV.",
    )
