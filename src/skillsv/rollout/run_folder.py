"""The run folder: what was asked (manifest), what came back (records, ledger), and the skill as it was valued.

manifest.json    settings, versions, seeds, fingerprints: the run's identity
records.jsonl    finished chains and observations, one a line
notes.json       sentences about the run: activation, noise, how it ended
ledger.sqlite    every rollout ever paid for in this folder, whichever run asked
skill/           the skill as valued, so that later commands need no other copy
valuation.json   report.html
earlier/ID/      the same of runs with another identity; the ledger stays shared
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from skillsv.errors import OutputError, RecordsError
from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.rollout import FailureKind, Usage
from skillsv.model.skill import Skill
from skillsv.rollout.durable_files import append_lines, clear_output_errors, sync_folder, write_whole
from skillsv.rollout.ledger import Ledger
from skillsv.rollout.ledger_file import is_held, take_lock
from skillsv.rollout.records import Record, encode_record, read_records
from skillsv.sandbox.run_files import LEDGER, MANIFEST, RECORDS, holds_run

SKILL, VALUATION, REPORT, EARLIER, NOTES = "skill", "valuation.json", "report.html", "earlier", "notes.json"
_OF_ONE_RUN = (REPORT, VALUATION, NOTES, RECORDS, SKILL, MANIFEST)  # the manifest last: it says whose the others are

Manifest = Mapping[str, Any]
"""Settings, versions, seeds, fingerprints and digests, as JSON."""

NOT_IDENTITY = frozenset({"schema", "version", "about"})
"""Parts of a manifest that are for people: they may differ between two sessions of one run."""


def run_id(manifest: Manifest) -> str:
    """The short name of a run: the same for every session with the same settings, skill, tasks and agent."""
    identity = {name: value for name, value in manifest.items() if name not in NOT_IDENTITY}
    if "show_target" in (identity.get("settings") or {}):
        identity["settings"] = _earlier_settings(identity)
    return hashlib.sha256(msgspec.json.encode(identity, order="deterministic")).hexdigest()[:12]


def _earlier_settings(manifest: Manifest) -> dict[str, Any]:
    """The settings with `hide_target`, as runs were named before there was `show_target`: they keep their names.

    Only programs and functions are sent the line of a task, so for other agents it was False whatever was shown.
    """
    settings = dict(manifest["settings"])
    shown = settings.pop("show_target")
    reads_line = manifest["agent"]["spec"].startswith(("command:", "python:"))
    return {**settings, "hide_target": reads_line and not shown}


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where a run stands. `answers` are scores used by finished chains; those the run did not pay for were `reused`.

    `cut` counts answers that the token limit cut, scored or missing.
    """

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
    cut: int


class RunFolder:
    """One folder on disk, for one skill and as many runs as its author makes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = path / RECORDS
        self.ledger = path / LEDGER
        self.valuation = path / VALUATION
        self.report = path / REPORT
        self.skill = path / SKILL
        self._written: set[bytes] | None = None

    @property
    def run_id(self) -> str:
        """The short name of the run that the folder holds now; empty if none."""
        manifest = self.manifest()
        return "" if manifest is None else run_id(manifest)

    def check_place(self, skill: Path, name: str) -> None:
        """Refuse a folder with the user's own files, one that overlaps the skill, and the run of another skill.

        Call it before anything is written. `skill` is the path the skill was read from, `name` its name.
        """
        with clear_output_errors(self.path):
            reason = self._why_refused(skill.resolve(), name)
        if reason is not None:
            hint = "Name another folder with --run-dir; a run that is there already can be moved."
            raise OutputError(reason, where=str(self.path), hint=hint)

    def _why_refused(self, skill: Path, name: str) -> str | None:
        place = self.path.resolve()
        if place.is_relative_to(skill) and not skill.is_file():
            return "This is inside the skill, and nothing is written there."
        if skill.is_relative_to(place):
            return "This holds the skill itself."
        if not place.exists():
            return None
        if not place.is_dir():
            return "This is not a folder."
        if not holds_run(place):
            return "This holds other files and no run; it was left as it is." if any(place.iterdir()) else None
        described = (self.manifest() or {}).get("skill")
        valued = described.get("name", name) if isinstance(described, Mapping) else name
        return None if valued == name else f"This holds the run of another skill, {valued}, not of {name}."

    def begin(self, manifest: Manifest, skill: Skill) -> bool:
        """Make this the folder's run, and set aside what belongs to another; True if it was this run already.

        Call it with the ledger open for writing: its lock keeps two runs from doing this at once.
        """
        same = self.run_id == run_id(manifest)
        if not same:
            self._set_aside()
            self._keep_skill(skill)
        self.write(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=2))
        return same

    def start_fresh(self) -> None:
        """Set aside everything, the ledger included, so that nothing is reused. Refused while a run is writing."""
        if self.path.is_dir():
            os.close(take_lock(self.ledger))
            self._set_aside(also=(LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm"))

    def manifest(self) -> Manifest | None:
        """What the folder holds now, None if nothing."""
        place = self.path / MANIFEST
        try:
            return msgspec.json.decode(place.read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            hint = "Move it away; the ledger keeps what was paid for."
            raise RecordsError(f"is no manifest ({error}).", where=str(place), hint=hint) from error

    def append(self, *records: Record) -> None:
        """Add finished records; on return they are on disk. One that is there already (a resumed run) stays single."""
        if self._written is None:
            self._written = set(map(_fingerprint, map(encode_record, read_records(self.records))))
        new = dict.fromkeys(map(encode_record, records))
        lines = [line for line in new if _fingerprint(line) not in self._written]
        if lines:
            append_lines(self.records, b"".join(lines))
            self._written.update(map(_fingerprint, lines))

    def chains(self) -> dict[int, ChainRecord]:
        """Finished chains by index; of one that was run again (some scores were missing) the last."""
        found = {record.plan.index: record for record in self._records() if isinstance(record, ChainRecord)}
        return dict(sorted(found.items()))

    def observations(self) -> list[Observation]:
        """Observations of an adaptive run, in the order they were written."""
        return [record for record in self._records() if isinstance(record, Observation)]

    def keep_notes(self, notes: Sequence[str]) -> None:
        """What a reader should know besides the numbers, for those who read the run again."""
        self.write(NOTES, msgspec.json.encode(notes))

    def notes(self) -> tuple[str, ...]:
        """The notes of the run; none where it has not come so far."""
        try:
            return tuple(msgspec.json.decode((self.path / NOTES).read_bytes(), type=list[str]))
        except (FileNotFoundError, msgspec.DecodeError):
            return ()

    def _records(self) -> Iterator[Record]:
        return read_records(self.records)

    def write(self, name: str, data: bytes) -> Path:
        """Put one file there, whole or not at all."""
        write_whole(self.path / name, data)
        return self.path / name

    def status(self) -> Status:
        """Where the run stands, at any moment, also while it runs."""
        manifest = self.manifest()
        if manifest is None:
            raise RecordsError("holds no run.", where=str(self.path), hint="Run `skillsv value` first.")
        run, chains, settings = run_id(manifest), self.chains(), manifest.get("settings", {})
        with Ledger.open(self.ledger, read_only=True) as ledger:
            total, failures = ledger.summary(run), ledger.failures(run)
        used = sum(map(answers_in, chains.values())) + len(self.observations())
        return Status(
            run=run,
            running=is_held(self.ledger),
            chains=len(chains),
            planned=settings.get("orders") if settings.get("method", "chain") == "chain" else None,
            rollouts=total.scored,
            reused=max(0, used - total.scored - total.missing),
            missing=total.missing,
            failures=failures,
            usage=total.usage,
            seconds=total.seconds,
            valued=self.valuation.exists(),
            cut=total.cut,
        )

    def _set_aside(self, *, also: tuple[str, ...] = ()) -> None:
        names = [name for name in (*also, *_OF_ONE_RUN) if (self.path / name).exists()]
        self._written = None
        if not names:
            return
        with clear_output_errors(self.path):
            place = self._free_place(self.run_id or "unknown", names)
            place.mkdir(parents=True, exist_ok=True)
            for name in names:
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
        with clear_output_errors(self.skill):
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
            half.rename(self.skill)
            sync_folder(self.path)


def _fingerprint(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=16).digest()


def answers_in(record: ChainRecord) -> int:
    """How many scores a chain asked for; the last prefix is the full anchor and was not asked for again."""
    anchors = (record.empty, record.full, *record.trigger)
    asked = sum(step.position < len(record.plan.order) - 1 for step in record.steps)
    return len(record.plan.window.tasks) * (len(anchors) + asked)
