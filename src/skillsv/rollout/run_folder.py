"""The run folder: what was asked (manifest), what came back (records, ledger), and the skill as it was valued.

manifest.json    settings, versions, seeds, fingerprints: the run's identity
records.jsonl    finished chains and observations, one a line
ledger.sqlite    every rollout ever paid for in this folder, whichever run asked
skill/           the skill as valued, so that later commands need no other copy
valuation.json   report.html
earlier/ID/      the same of runs with another identity; the ledger stays shared
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from skillsv.errors import RecordsError
from skillsv.model.chain import ChainRecord, Observation
from skillsv.model.rollout import FailureKind, Usage
from skillsv.model.skill import Skill
from skillsv.rollout.durable import clear_output_errors, sync_folder, write_whole
from skillsv.rollout.ledger import Ledger
from skillsv.rollout.ledger_file import is_held
from skillsv.rollout.records import Record, append_records, read_records

MANIFEST_SCHEMA = "skillsv.run/1"
MANIFEST, RECORDS, LEDGER, SKILL = "manifest.json", "records.jsonl", "ledger.sqlite", "skill"
VALUATION, REPORT, EARLIER = "valuation.json", "report.html", "earlier"
_OF_ONE_RUN = (REPORT, VALUATION, RECORDS, SKILL, MANIFEST)  # the manifest last: it says whose the others are


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What makes a run this run. `identity` decides its values (settings, seed, fingerprints, digests of skill and
    tasks); `about` is for people (versions, command line) and may change from one session to the next.
    """

    identity: Mapping[str, Any]
    about: Mapping[str, Any] = field(default_factory=dict)
    chains: int | None = None
    schema: str = MANIFEST_SCHEMA

    @property
    def digest(self) -> str:
        """Names the identity."""
        return hashlib.sha256(msgspec.json.encode(self.identity, order="deterministic")).hexdigest()

    @property
    def run(self) -> str:
        """The short name of the run, as in the ledger and in `earlier/`."""
        return self.digest[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where a run stands. `answers` are scores used by finished chains; those the run did not pay for were `reused`."""

    run: str
    running: bool
    chains: int
    planned: int | None
    rollouts: int
    reused: int
    missing: int
    failures: Mapping[FailureKind, int]
    usage: Usage
    seconds: float
    valued: bool


class RunFolder:
    """One folder on disk, for one skill and as many runs as its author makes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_file = path / MANIFEST
        self.records_file = path / RECORDS
        self.ledger_file = path / LEDGER
        self.valuation_file = path / VALUATION
        self.report_file = path / REPORT
        self.skill_folder = path / SKILL

    def begin(self, manifest: Manifest, skill: Skill, *, fresh: bool = False) -> Ledger:
        """Become the folder's one writer, set aside what belongs to another run, and give the ledger to write to.

        `fresh`: set aside this run's own past as well, ledger included. The caller closes the ledger.
        """
        ledger = Ledger.open(self.ledger_file)
        try:
            if fresh:
                ledger.close()
                self._set_aside(with_ledger=True)
                ledger = Ledger.open(self.ledger_file)
            earlier = self.manifest()
            if earlier is None or earlier.digest != manifest.digest:
                self._set_aside()
                self._keep_skill(skill)
            self.write(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=2))
        except BaseException:
            ledger.close()
            raise
        return ledger

    def manifest(self) -> Manifest | None:
        """What the folder holds now, None if nothing."""
        try:
            return msgspec.json.decode(self.manifest_file.read_bytes(), type=Manifest)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            hint = "Move it away; the ledger keeps what was paid for."
            raise RecordsError(f"is no manifest ({error}).", where=str(self.manifest_file), hint=hint) from error

    def append(self, *records: Record) -> None:
        """Add finished records; on return they are on disk."""
        append_records(self.records_file, records)

    def chains(self) -> dict[int, ChainRecord]:
        """Finished chains by index; of one that was run again (some scores were missing) the last."""
        found = {record.plan.index: record for record in self._records() if isinstance(record, ChainRecord)}
        return dict(sorted(found.items()))

    def observations(self) -> list[Observation]:
        """Observations of an adaptive run, in the order they were written."""
        return [record for record in self._records() if isinstance(record, Observation)]

    def _records(self) -> Iterator[Record]:
        return read_records(self.records_file)

    def write(self, name: str, data: bytes) -> Path:
        """Put one file there, whole or not at all."""
        write_whole(self.path / name, data)
        return self.path / name

    def status(self) -> Status:
        """Where the run stands, at any moment, also while it runs."""
        manifest = self.manifest()
        if manifest is None:
            raise RecordsError("holds no run.", where=str(self.path), hint="Run `skillsv value` first.")
        chains = self.chains()
        with Ledger.open(self.ledger_file, read_only=True) as ledger:
            total, failures = ledger.summary(manifest.run), ledger.failures(manifest.run)
        used = sum(map(answers_in, chains.values())) + len(self.observations())
        return Status(
            run=manifest.run,
            running=is_held(self.ledger_file),
            chains=len(chains),
            planned=manifest.chains,
            rollouts=total.scored,
            reused=max(0, used - total.scored - total.missing),
            missing=total.missing,
            failures=failures,
            usage=total.usage,
            seconds=total.seconds,
            valued=self.valuation_file.exists(),
        )

    def _set_aside(self, *, with_ledger: bool = False) -> None:
        names = [name for name in _OF_ONE_RUN if (self.path / name).exists()]
        if with_ledger:
            names = [LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm", *names]
        manifest = self.manifest()
        with clear_output_errors(self.path):
            place = self._free_place("unknown" if manifest is None else manifest.run, names)
            for name in names:
                if (self.path / name).exists():
                    place.mkdir(parents=True, exist_ok=True)
                    (self.path / name).rename(place / name)
            sync_folder(self.path)

    def _free_place(self, run: str, names: list[str]) -> Path:
        place, number = self.path / EARLIER / run, 1
        while any((place / name).exists() for name in names):
            number += 1
            place = self.path / EARLIER / f"{run}-{number}"
        return place

    def _keep_skill(self, skill: Skill) -> None:
        """A copy of every file as read: written beside, then renamed, so that half a copy never looks whole."""
        with clear_output_errors(self.skill_folder):
            half = self.path / f".{SKILL}-half"
            shutil.rmtree(half, ignore_errors=True)
            for file in skill.files:
                place = half / PurePosixPath(file.path)
                place.parent.mkdir(parents=True, exist_ok=True)
                if file.data is not None:
                    place.write_bytes(file.data)
                elif file.origin is not None:
                    shutil.copyfile(file.origin, place)
                place.chmod(0o755 if file.executable else 0o644)
            half.mkdir(parents=True, exist_ok=True)
            half.rename(self.skill_folder)
            sync_folder(self.path)


def answers_in(record: ChainRecord) -> int:
    """How many scores a chain asked for; the last prefix is the full anchor and was not asked for again."""
    anchors = (record.empty, record.full, *record.trigger)
    asked = sum(step.position < len(record.plan.order) - 1 for step in record.steps)
    return len(record.plan.window.tasks) * (len(anchors) + asked)
