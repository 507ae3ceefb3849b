"""Chain records, observations and anchors of the panel as lines of JSON, tagged with their schema.

The coalition of an observation is a number with one bit for each unit; lines of the schema `skillsv.units/1` name the
units of these bits. Observations of earlier versions name all their units.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import RecordsError
from skillsv.model.coalition import ChainRecord, Coalition, Observation, Operator, PanelAnchors, Scores

Record = ChainRecord | Observation | PanelAnchors

UNITS = "skillsv.units/1"
"""The schema of a line that names the units of the next bits."""

COMPACT = "skillsv.observation/2"
"""The schema of an observation whose coalition is a number."""

SCHEMAS: dict[str, type[Record]] = {
    "skillsv.chain/1": ChainRecord,
    "skillsv.observation/1": Observation,
    "skillsv.anchors/1": PanelAnchors,
}
"""The type of record by the schema's name in the file, for records that are stored as they are."""

CHECKSUMS = "records.crc32"
"""The file with the checksum of every line of the records: a digit that changed on disk would change a value."""

_NAMES = {kind: name for name, kind in SCHEMAS.items()}


class _TaggedRecord(msgspec.Struct):
    schema: str
    record: object


class _Line(msgspec.Struct):
    schema: str
    record: msgspec.Raw


class _CompactObservation(msgspec.Struct):
    units: str  # the coalition, hexadecimal
    operator: Operator
    task: str
    replicate: int
    score: float | None
    why: str
    null_change: int = 0


_ENCODER = msgspec.json.Encoder(order="deterministic")
_LINE = msgspec.json.Decoder(_Line)
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {name: msgspec.json.Decoder(kind) for name, kind in SCHEMAS.items()}
_NAMES_DECODER = msgspec.json.Decoder(list[str])
_COMPACT_DECODER = msgspec.json.Decoder(_CompactObservation)

_DIGIT_VALUES = bytes.maketrans(b"01", b"\0\1")
"""Turns binary digits into the bytes 0 and 1."""


@dataclass(slots=True)
class UnitTable:
    """The units of one records file; unit k has bit k. The file names the first `stored` of them."""

    names: list[str] = field(default_factory=list)
    stored: int = 0
    _bits: dict[str, int] = field(default_factory=dict)

    def add(self, names: Iterable[str]) -> None:
        """Give bits to units that have none."""
        for name in names:
            if name not in self._bits:
                self._bits[name] = 1 << len(self.names)
                self.names.append(name)

    def encode(self, coalition: Coalition) -> str:
        """The coalition as a hexadecimal number."""
        if not coalition <= self._bits.keys():
            self.add(sorted(coalition))
        return f"{sum(map(self._bits.__getitem__, coalition)):x}"

    def decode(self, units: str) -> Coalition:
        """The coalition of a hexadecimal number. Raises ValueError where no line names one of its units."""
        number = int(units, 16)
        if number < 0 or number >> len(self.names):
            raise ValueError("a unit that no line names")
        return frozenset(compress(self.names, f"{number:b}"[::-1].encode().translate(_DIGIT_VALUES)))

    def encode_new_names(self) -> list[bytes]:
        """The line, newline included, for the units that the file does not name yet; none if it names all."""
        new = self.names[self.stored :]
        return [_encode_line(UNITS, new)] if new else []


def encode_record(record: Record, table: UnitTable) -> bytes:
    """One line, newline included; the same record gives the same bytes with the same table, which may grow."""
    if not isinstance(record, Observation):
        return _encode_line(_NAMES[type(record)], record)
    compact = _CompactObservation(
        units=table.encode(record.coalition),
        operator=record.operator,
        task=record.task,
        replicate=record.replicate,
        score=record.score,
        why=record.why,
        null_change=record.null_change,
    )
    return _encode_line(COMPACT, compact)


def _encode_line(schema: str, record: object) -> bytes:
    return _ENCODER.encode(_TaggedRecord(schema, record)) + b"\n"


def read_records(path: Path, table: UnitTable | None = None) -> Iterator[Record]:
    """All records in the order they were written. A torn last line (from a crash while writing) is skipped.

    `table` gets the units that the file names.
    """
    if not path.exists():
        return
    table = UnitTable() if table is None else table
    checksums = _read_checksums(path)
    number = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                if number <= len(checksums) and checksums[number - 1] != checksum(line):
                    raise _damaged("this line was changed or damaged since it was written.", f"{path}:{number}")
                record = _decode(line, f"{path}:{number}", table)
                if record is not None:
                    yield record
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


def _decode(line: bytes, where: str, table: UnitTable) -> Record | None:
    """The record of a line; None for a line that names units."""
    try:
        tagged = _LINE.decode(line)
        if tagged.schema == UNITS:
            table.add(_NAMES_DECODER.decode(tagged.record))
            table.stored = len(table.names)
            return None
        if tagged.schema == COMPACT or tagged.schema in _DECODERS:
            record = _decode_record(tagged, table)
            _check_parts(record)
            return record
    except (msgspec.DecodeError, ValueError, RecursionError, _Inconsistent) as error:
        raise RecordsError(
            f"this line is no record ({error}).", where=where, hint="Move the file away; the ledger fills a new one."
        ) from error
    raise RecordsError(
        f"this record has the schema {tagged.schema!r}, which this SkillSV does not know.",
        where=where,
        hint="Update SkillSV.",
    )


def _decode_record(tagged: _Line, table: UnitTable) -> Record:
    if tagged.schema != COMPACT:
        record: Record = _DECODERS[tagged.schema].decode(tagged.record)
        return record
    compact = _COMPACT_DECODER.decode(tagged.record)
    return Observation(
        coalition=table.decode(compact.units),
        operator=compact.operator,
        task=compact.task,
        replicate=compact.replicate,
        score=compact.score,
        why=compact.why,
        null_change=compact.null_change,
    )
