"""Chain records, observations and anchors of the panel as lines of JSON, tagged with their schema."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import RecordsError
from skillsv.model.coalition import ChainRecord, Observation, PanelAnchors, Scores

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


class _Inconsistent(Exception):
    """The parts of a record contradict each other."""


def _check_parts(record: Record) -> None:
    """Raises _Inconsistent where parts of a record do not belong together: no estimate can be made from it."""
    scores: tuple[Scores, ...]
    match record:
        case Observation():
            scores, length = ((record.score,),), 1
        case PanelAnchors():
            scores, length = (record.empty, record.trigger, record.full), len(record.tasks)
        case ChainRecord():
            steps = tuple(step.scores for step in record.steps)
            scores, length = (record.empty, record.full, *record.trigger, *steps), len(record.plan.window.tasks)
            _check_steps(record)
    if any(len(row) != length for row in scores):
        raise _Inconsistent(f"not {length} scores everywhere")
    if any(score is not None and not 0.0 <= score <= 1.0 for row in scores for score in row):
        raise _Inconsistent("a score outside [0, 1]")


def _check_steps(record: ChainRecord) -> None:
    """Raises _Inconsistent where the steps of a chain are not those of its plan."""
    plan, order = record.plan, record.plan.order
    if not order or len(set(order)) != len(order) or not plan.window.tasks or not plan.operators:
        raise _Inconsistent("no order, tasks or operators, or a unit twice")
    if len(record.trigger) != len(plan.operators) or len(set(plan.operators)) != len(plan.operators):
        raise _Inconsistent("the scores of the trigger are not one row for each operator")
    last = len(order) - 1 if record.truncated_at is None else record.truncated_at
    if not 0 <= last < len(order):
        raise _Inconsistent("truncated at a position that the order does not have")
    expected = {(operator, position) for operator in plan.operators for position in range(1, last + 1)}
    found = [(step.operator, step.position) for step in record.steps]
    if len(found) != len(set(found)) or set(found) != expected:
        raise _Inconsistent("the steps are not those of its order")
    if any(step.unit != order[step.position] for step in record.steps):
        raise _Inconsistent("a step names another unit than the order")


def _damaged(what: str, where: str) -> RecordsError:
    hint = f"Restore a copy, or move {CHECKSUMS} and the records away: the same 'skillsv value' fills new ones."
    return RecordsError(what, where=where, hint=hint)


def _decode(line: bytes, where: str) -> Record:
    try:
        tagged = _LINE.decode(line)
        decoder = _DECODERS.get(tagged.schema)
        if decoder is not None:
            record: Record = decoder.decode(tagged.record)
            _check_parts(record)
            return record
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, _Inconsistent) as error:
        raise RecordsError(
            f"this line is no record ({error}).", where=where, hint="Move the file away; the ledger fills a new one."
        ) from error
    raise RecordsError(
        f"this record has the schema {tagged.schema!r}, which this SkillSV does not know.",
        where=where,
        hint="Update SkillSV.",
    )
