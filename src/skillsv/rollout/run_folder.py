"""The run folder: settings (manifest), results (records, ledger), and a copy of the skill that was valued.

manifest.json    settings, versions, seeds, fingerprints: the run's identity
records.jsonl    finished chains, anchors on the panel, and observations, one a line
records.crc32    a checksum for each line of the records
notes.json       sentences about the run (activation, noise, how it ended), and whether it is provisional
agent.log        what functions of the user printed, where they printed something
ledger.sqlite    every paid rollout of all runs in this folder
skill/           a copy of the valued skill, for later commands
confirmation.json  the last proof, with all proofs before it
spending.jsonl   what editors used, one command a line
valuation.json   report.html
known.json       what an edited skill took over from its earlier version when the run began
prior.json       what other agents of a matrix had shown when the run began
earlier/ID/      the same files of earlier runs with another identity; all runs share the ledger
mended-tasks.json  held-out tasks that shrinks of this folder have used to mend a set
proof-sizes.json   the sizes that shrinks of this folder have fixed for their proofs
matrix-runs/NAME/  the same files of the run of one agent of a matrix; all runs share the ledger
matrix.json      matrix.html: the answer of a matrix
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from skillsv.errors import OutputError, RecordsError
from skillsv.model.coalition import (
    AdaptiveReason,
    AgentPrior,
    ChainRecord,
    EarlierScore,
    KnownAnswers,
    KnownCoalition,
    Observation,
    PanelAnchors,
)
from skillsv.model.rollout import FailureKind, Usage
from skillsv.model.skill import Skill
from skillsv.rollout.durable_files import append_lines, explain_output_errors, sync_folder, write_whole
from skillsv.rollout.ledger import CommandSpending, Ledger
from skillsv.rollout.ledger_file import is_locked, take_lock
from skillsv.rollout.records import CHECKSUMS, Record, UnitTable, checksum, checksum_file, encode_record, read_records
from skillsv.rollout.stored_rollouts import ReusableRollouts, sort_rollouts
from skillsv.sandbox.run_files import LEDGER, MANIFEST, RECORDS, holds_run

SKILL = "skill"
"""Folder with the copy of the skill."""

VALUATION = "valuation.json"
"""The values, as JSON."""

REPORT = "report.html"
"""The report, as a page."""

EARLIER = "earlier"
"""Folder with the files of earlier runs."""

AGENTS = "matrix-runs"
"""Folder with the runs of a matrix, one folder for each agent."""

NOTES = "notes.json"
"""Sentences about the run."""

AGENT_LOG = "agent.log"
"""What functions of the user printed."""

CONFIRMATION = "confirmation.json"
"""The last proof of the run, with all proofs before it."""

SPENDING = "spending.jsonl"
"""What editors used, one command a line."""

KNOWN = "known.json"
"""What the run took over from an earlier version of the skill: task and units of each coalition."""

STOP = "stop-request"
"""Its presence asks the run in this folder to stop; `skillsv view` writes it, and the run removes it."""

MENDED_TASKS = "mended-tasks.json"
"""Beside the ledger: for each shrink, the held-out tasks that it has used to mend a set."""

PROOF_SIZES = "proof-sizes.json"
"""Beside the ledger: for each shrink, the sizes that it has fixed for its proofs."""

PRIOR = "prior.json"
"""What other agents of a matrix had shown when the run began."""

_FILES_OF_A_RUN = (
    REPORT,
    VALUATION,
    CONFIRMATION,
    SPENDING,
    NOTES,
    KNOWN,
    PRIOR,
    AGENT_LOG,
    CHECKSUMS,
    RECORDS,
    SKILL,
    MANIFEST,
)
"""What is moved when another run begins; the manifest last, because it identifies the run of the other files."""

Manifest = Mapping[str, Any]
"""Settings, versions, seeds, fingerprints and digests, as JSON."""


class _KnownFile(msgspec.Struct):
    """`ask_first` is false in a run of an earlier version that goes along the path of the run before it.

    `why` has an entry for each of `coalitions`; earlier versions stored none.
    """

    ask_first: bool
    coalitions: list[tuple[str, list[str]]]
    why: list[AdaptiveReason] = []
    changes: list[tuple[str, list[str]]] = []
    steady: bool = False


_ScoreRow = tuple[str, list[int], float]
"""A task, the numbers of the units of a coalition, and its score."""


class _PriorFile(msgspec.Struct):
    coalitions: list[tuple[str, list[str]]]
    values: list[dict[str, float]]
    units: list[str] = []  # names of the numbers in the rows of `scores`
    scores: list[list[_ScoreRow]] = []  # of each agent


def _earlier_scores(stored: _PriorFile, agent: list[_ScoreRow]) -> tuple[EarlierScore, ...]:
    """The scores of one agent. Raises IndexError for a number that names no unit."""
    return tuple(
        EarlierScore(task=task, coalition=frozenset(stored.units[number] for number in numbers), score=score)
        for task, numbers, score in agent
    )


class _SkillShape(msgspec.Struct):
    name: str = ""
    main: str = ""
    single_file: bool = False


class _AgentShape(msgspec.Struct):
    spec: str = ""
    fingerprint: str = ""


class _AboutShape(msgspec.Struct):
    skill: str = ""
    tasks: str = ""
    folder: str = ""
    kit: str = ""
    variant: str = ""
    forecast: int = 0
    settings: dict[str, Any] = {}
    round_size: int | None = None
    live_searches: int | None = None


class _ManifestShape(msgspec.Struct):
    """The types of what a manifest holds. A part that is missing or unknown is no error here."""

    schema: str = ""
    digest: str = ""
    version: str = ""
    skill: _SkillShape | UnsetType = UNSET
    agent: _AgentShape | UnsetType = UNSET
    about: _AboutShape | UnsetType = UNSET
    settings: dict[str, Any] = {}
    panel_a: dict[str, str] = {}
    panel_b: dict[str, str] = {}


NOT_IDENTITY = frozenset({"schema", "version", "about"})
"""Parts of a manifest that are for people: they may differ between two sessions of one run."""


def run_id(manifest: Manifest) -> str:
    """The short name of a run: the same for all sessions with the same settings, skill, tasks and agent."""
    identity = {name: value for name, value in manifest.items() if name not in NOT_IDENTITY}
    if "show_target" in (identity.get("settings") or {}):
        identity["settings"] = _settings_with_hide_target(identity)
    return hashlib.sha256(msgspec.json.encode(identity, order="deterministic")).hexdigest()[:12]


def _settings_with_hide_target(manifest: Manifest) -> dict[str, Any]:
    """The settings with `hide_target` instead of `show_target`, so that runs of earlier versions keep their names.

    Only programs and functions receive the line of a task: for other agents `hide_target` was always False.
    """
    settings = dict(manifest["settings"])
    shown = settings.pop("show_target")
    spec: str = manifest.get("agent", {}).get("spec", "")  # a damaged manifest may lack it
    reads_line = spec.startswith(("command:", "python:"))
    return {**settings, "hide_target": reads_line and not shown}


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The state of a run. `reused` counts scores of finished chains that the run did not pay for.

    `cut` counts answers that the token limit cut, scored or missing. `provisional`: the last session ended early, was
    killed or still runs, or chains are missing. `stored` says which rollouts of the ledger serve this run, and why
    others do not. `commands` are what later commands (confirm, refine, ...) spent; the other numbers are of the
    valuation.
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
    provisional: bool
    stored: ReusableRollouts = field(default_factory=ReusableRollouts)
    commands: Mapping[str, CommandSpending] = field(default_factory=dict)

    @property
    def total(self) -> CommandSpending:
        """What the valuation and all later commands spent."""
        valuation = CommandSpending(rollouts=self.rollouts, usage=self.usage, seconds=self.seconds)
        return sum(self.commands.values(), valuation)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Notes:
    """What `notes.json` holds."""

    notes: tuple[str, ...] = ()
    provisional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spending:
    """What a line of `spending.jsonl` holds."""

    command: str
    calls: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecords:
    """What `records.jsonl` holds. `chains` are by index; of a chain that was run again, the last record."""

    chains: Mapping[int, ChainRecord]
    observations: tuple[Observation, ...]
    panel_anchors: PanelAnchors | None


class RunFolder:
    """One folder on disk, for one skill and any number of its runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = path / RECORDS
        self.ledger = _ledger_of(path)
        self.valuation = path / VALUATION
        self.report = path / REPORT
        self.skill = path / SKILL
        self._written: set[bytes] | None = None
        self._table = UnitTable()
        self._checksums_complete = False

    @property
    def run_id(self) -> str:
        """The short name of the current run; empty if there is none."""
        manifest = self.manifest()
        return "" if manifest is None else run_id(manifest)

    def check_place(self, skill: Path | None, name: str) -> None:
        """Refuse a folder with the user's own files, one that overlaps the skill, and the run of another skill.

        Call it before anything is written. `skill` is the path the skill was read from (None: a text), `name` its name.
        """
        with explain_output_errors(self.path):
            reason = self._why_refused(None if skill is None else skill.resolve(), name)
        if reason is not None:
            hint = "Name another folder with --run-dir; a run that is there already can be moved."
            raise OutputError(reason, where=str(self.path), hint=hint)

    def _why_refused(self, skill: Path | None, name: str) -> str | None:
        place = self.path.resolve()
        if skill is not None and place.is_relative_to(skill) and not skill.is_file():
            return "This is inside the skill, and nothing is written there."
        if skill is not None and skill.is_relative_to(place):
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
        """Make this the current run, and move the files of another run; True if it was the current run already.

        Call it with the ledger open for writing: its lock keeps two runs from doing this at once.
        """
        same = self.run_id == run_id(manifest)
        if not same:
            self._move_to_earlier()
            self._copy_skill(skill)
        self.write(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=2))
        return same

    def keep_known(self, known: KnownAnswers) -> None:
        """Store what the run takes over from an earlier version of the skill; nothing where there is nothing."""
        if known.coalitions:
            rows, changes = (
                [(item.task, sorted(item.coalition)) for item in items] for items in (known.coalitions, known.changes)
            )
            why = [item.why for item in known.coalitions]
            file = _KnownFile(ask_first=True, coalitions=rows, why=why, changes=changes, steady=known.steady)
            self.write(KNOWN, msgspec.json.encode(file))

    def known(self) -> KnownAnswers:
        """What the current run took over from an earlier version of the skill when it began."""
        path = self.path / KNOWN
        if not path.exists():
            return KnownAnswers()
        try:
            stored = msgspec.json.decode(path.read_bytes(), type=_KnownFile)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            hint = "Move it away: the run then asks for other rollouts."
            raise RecordsError(f"is no list of coalitions ({error}).", where=str(path), hint=hint) from error
        if not stored.ask_first:
            return KnownAnswers()
        reasons = stored.why or [AdaptiveReason.KNOWN] * len(stored.coalitions)
        return KnownAnswers(
            coalitions=tuple(
                KnownCoalition(task=task, coalition=frozenset(units), why=why)
                for (task, units), why in zip(stored.coalitions, reasons, strict=False)
            ),
            changes=tuple(KnownCoalition(task=task, coalition=frozenset(units)) for task, units in stored.changes),
            steady=stored.steady,
        )

    def keep_prior(self, prior: AgentPrior) -> None:
        """Store what other agents had shown when the run began; nothing where there is nothing."""
        if prior != AgentPrior():
            rows = [(item.task, sorted(item.coalition)) for item in prior.coalitions]
            units = sorted({unit for agent in prior.scores for item in agent for unit in item.coalition})
            number = {unit: place for place, unit in enumerate(units)}
            file = _PriorFile(
                coalitions=rows,
                values=[dict(values) for values in prior.values],
                units=units,
                scores=[
                    [(item.task, sorted(map(number.__getitem__, item.coalition)), item.score) for item in agent]
                    for agent in prior.scores
                ],
            )
            self.write(PRIOR, msgspec.json.encode(file))

    def prior(self) -> AgentPrior:
        """What other agents had shown when the current run began."""
        path = self.path / PRIOR
        if not path.exists():
            return AgentPrior()
        try:
            stored = msgspec.json.decode(path.read_bytes(), type=_PriorFile)
            scores = tuple(_earlier_scores(stored, agent) for agent in stored.scores)
        except (OSError, IndexError, msgspec.DecodeError, UnicodeDecodeError) as error:
            hint = "Move it away: the values are then estimated from this agent's rollouts alone."
            raise RecordsError(f"is no list of other agents ({error}).", where=str(path), hint=hint) from error
        coalitions = (KnownCoalition(task=task, coalition=frozenset(units)) for task, units in stored.coalitions)
        return AgentPrior(coalitions=tuple(coalitions), values=tuple(stored.values), scores=scores)

    def request_stop(self) -> None:
        """Ask the run that writes here to stop: it starts nothing new and keeps what has finished."""
        self.write(STOP, b"")

    def stop_files(self) -> list[Path]:
        """Where a request to stop what writes to the ledger may be: in this folder, and in those of all agents."""
        top = self.ledger.parent
        places = {self.path, top, *(path.parent for path in top.glob(f"{AGENTS}/*/{STOP}"))}
        return [place / STOP for place in sorted(places)]

    def start_fresh(self) -> None:
        """Move everything to `earlier`, the ledger included: nothing is reused. Refused while a run is writing."""
        if self.path.is_dir():
            os.close(take_lock(self.ledger))
            self._move_to_earlier(also=(LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm", MENDED_TASKS, PROOF_SIZES, AGENTS))

    def manifest(self) -> Manifest | None:
        """The manifest of the current run, None if there is none."""
        path = self.path / MANIFEST
        try:
            manifest: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
            msgspec.convert(manifest, _ManifestShape)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            hint = "Move it away; the ledger keeps what was paid for."
            raise RecordsError(f"is no manifest ({error}).", where=str(path), hint=hint) from error
        return manifest

    @property
    def round_size(self) -> int | None:
        """The round size that the current run recorded when it began; earlier versions recorded none."""
        return self._recorded_number("round_size")

    @property
    def live_searches(self) -> int | None:
        """The task searches at the same time that the current run recorded; earlier versions recorded none."""
        return self._recorded_number("live_searches")

    def _recorded_number(self, name: str) -> int | None:
        number: int | None = ((self.manifest() or {}).get("about") or {}).get(name)
        return number

    def other_manifests(self) -> list[Manifest]:
        """The manifests of all other runs that share the ledger. One that cannot be read is left out."""
        found = list[Manifest]()
        for place in self.places():
            try:
                if place.path != self.path:
                    found.append(msgspec.json.decode((place.path / MANIFEST).read_bytes(), type=dict[str, Any]))
            except (OSError, msgspec.DecodeError, UnicodeDecodeError):
                continue
        return found

    def places(self) -> list[RunFolder]:
        """The folders of all runs that share the ledger."""
        top = self.ledger.parent
        places = ("", f"{EARLIER}/*/", f"{AGENTS}/*/", f"{AGENTS}/*/{EARLIER}/*/")
        paths = {path.parent for place in places for path in top.glob(f"{place}{MANIFEST}")}
        paths |= {path.parent for path in (self.path / EARLIER).glob(f"*/{MANIFEST}")}
        return [RunFolder(path) for path in sorted(paths)]

    def append(self, *records: Record) -> None:
        """Add finished records; on return they are on disk. A record that is there already is not written again."""
        if self._written is None:
            self._written = self._read_written()
        written, table = self._written, self._table
        new = dict.fromkeys(encode_record(record, table) for record in records)
        fresh = [line for line in new if _fingerprint(line) not in written]
        if fresh:
            lines = [*table.encode_new_names(), *fresh]
            if not self._checksums_complete:
                self._drop_checksums_without_a_line()
            append_lines(self.records, b"".join(lines))
            table.stored = len(table.names)
            if self._checksums_complete:
                append_lines(checksum_file(self.records), b"".join(checksum(line) + b"\n" for line in lines))
            else:
                self._append_checksums()
            self._checksums_complete = True
            written.update(map(_fingerprint, fresh))

    def _read_written(self) -> set[bytes]:
        """The fingerprints of the stored records. Units that only earlier versions' records name get the last bits."""
        self._table = UnitTable()
        stored = list(read_records(self.records, self._table))
        return {_fingerprint(encode_record(record, self._table)) for record in stored}

    def _drop_checksums_without_a_line(self) -> None:
        """Drop the checksums of a torn last line, which the next record replaces, and of records that were moved."""
        known = checksum_file(self.records)
        with explain_output_errors(known):
            lines = self.records.read_bytes().count(b"\n") if self.records.exists() else 0
            checksums = known.read_bytes().splitlines(keepends=True) if known.exists() else []
        if len(checksums) > lines:
            write_whole(known, b"".join(checksums[:lines]))

    def _append_checksums(self) -> None:
        """Add the checksums of the lines that have none, also those that a crash has lost."""
        known = checksum_file(self.records)
        with explain_output_errors(known):
            done = known.read_bytes().count(b"\n") if known.exists() else 0
            with self.records.open("rb") as file:
                new = [checksum(line) + b"\n" for line in islice(file, done, None)]
        append_lines(known, b"".join(new))

    def read_records(self) -> StoredRecords:
        """All records of the run, read once."""
        chains: dict[int, ChainRecord] = {}
        observations: list[Observation] = []
        anchors: PanelAnchors | None = None
        for record in read_records(self.records):
            match record:
                case ChainRecord():
                    chains[record.plan.index] = record
                case Observation():
                    observations.append(record)
                case PanelAnchors():
                    anchors = record
        return StoredRecords(
            chains=dict(sorted(chains.items())), observations=tuple(observations), panel_anchors=anchors
        )

    def chains(self) -> dict[int, ChainRecord]:
        """Finished chains by index; of a chain that was run again (because scores were missing), the last record."""
        return dict(self.read_records().chains)

    def observations(self) -> list[Observation]:
        """Observations of an adaptive run, in the order they were written."""
        return list(self.read_records().observations)

    def panel_anchors(self) -> PanelAnchors | None:
        """The last anchors that a chain run measured on the whole panel; None where it measured none."""
        return self.read_records().panel_anchors

    def keep_notes(self, notes: Sequence[str], *, provisional: bool = False) -> None:
        """Store what a reader should know besides the numbers. `provisional`: the run is not finished."""
        self.write(NOTES, msgspec.json.encode(_Notes(notes=tuple(notes), provisional=provisional)))

    def notes(self) -> tuple[str, ...]:
        """The notes of the run; empty if none are stored yet."""
        return self._read_notes().notes

    @property
    def provisional(self) -> bool:
        """Whether the last session of the run ended early, was killed or still runs; earlier versions did not say."""
        return self._read_notes().provisional

    def _read_notes(self) -> _Notes:
        """Read the notes; earlier versions stored the list of sentences alone."""
        try:
            stored = msgspec.json.decode((self.path / NOTES).read_bytes(), type=list[str] | _Notes)
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _Notes()
        return stored if isinstance(stored, _Notes) else _Notes(notes=tuple(stored))

    def keep_other_proof(self) -> None:
        """Move the proof of another run, which an earlier version left here, so that it is not overwritten."""
        path = self.path / CONFIRMATION
        if path.exists():
            with explain_output_errors(self.path):
                target = self._free_earlier_folder("proofs", [CONFIRMATION])
                target.mkdir(parents=True, exist_ok=True)
                path.rename(target / CONFIRMATION)

    def keep_spending(self, command: str, calls: int, usage: Usage) -> None:
        """Store what the calls of a command used that are no rollouts: those of an editor."""
        entry = _Spending(command=command, calls=calls, usage=usage)
        append_lines(self.path / SPENDING, msgspec.json.encode(entry) + b"\n")

    def _read_spending(self) -> Iterator[tuple[str, CommandSpending]]:
        try:
            lines = (self.path / SPENDING).read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                entry = msgspec.json.decode(line, type=_Spending)
            except msgspec.DecodeError:  # a torn line, left by a crash
                continue
            yield entry.command, CommandSpending(rollouts=entry.calls, usage=entry.usage)

    def write(self, name: str, data: bytes) -> Path:
        """Write one file, completely or not at all."""
        write_whole(self.path / name, data)
        return self.path / name

    def status(self, records: StoredRecords | None = None) -> Status:
        """The state of the run; works while it runs. `records`: those of the folder, where they were read already."""
        manifest = self.manifest()
        if manifest is None:
            agents = sorted(place.name for place in (self.path / AGENTS).glob("*/"))
            hint = f"Name the run of an agent: {AGENTS}/{agents[0]}." if agents else "Run `skillsv value` first."
            raise RecordsError("holds no run.", where=str(self.path), hint=hint)
        records = records or self.read_records()
        run, chains, settings = run_id(manifest), records.chains, manifest.get("settings", {})
        with Ledger.open(self.ledger, read_only=True) as ledger:
            total, failures, groups = ledger.summary(run), ledger.failures(run), ledger.groups()
            commands = self.later_spending(ledger, run)
        digests = {*manifest.get("panel_a", {}).values(), *manifest.get("panel_b", {}).values()}
        agent = manifest.get("agent", {}).get("fingerprint", "")
        anchors = records.panel_anchors
        used = sum(map(answers_in, chains.values())) + len(records.observations)
        used += 0 if anchors is None else 3 * len(anchors.tasks)
        planned = settings.get("orders") if settings.get("method", "chain") == "chain" else None
        return Status(
            run=run,
            running=is_locked(self.ledger),
            chains=len(chains),
            planned=planned,
            rollouts=total.scored,
            reused=max(0, used - total.scored - total.missing),
            missing=total.missing,
            failures=failures,
            usage=total.usage,
            seconds=total.seconds,
            valued=self.valuation.exists(),
            cut=total.cut,
            provisional=self.provisional or (planned is not None and len(chains) < planned),
            stored=sort_rollouts(groups, agent, digests),
            commands=commands,
        )

    def later_spending(self, ledger: Ledger, run: str) -> dict[str, CommandSpending]:
        """What the commands after the valuation spent, by their names: rollouts, and calls of editors."""
        commands = ledger.commands(run)
        for name, spent in self._read_spending():
            commands[name] = commands[name] + spent if name in commands else spent
        return commands

    def _move_to_earlier(self, *, also: tuple[str, ...] = ()) -> None:
        names = [name for name in (*also, *_FILES_OF_A_RUN) if (self.path / name).exists()]
        self._written = None
        self._checksums_complete = False
        if not names:
            return
        with explain_output_errors(self.path):
            target = self._free_earlier_folder(self.run_id or "unknown", names)
            target.mkdir(parents=True, exist_ok=True)
            for name in names:
                (self.path / name).rename(target / name)
            sync_folder(self.path)

    def _free_earlier_folder(self, run: str, names: list[str]) -> Path:
        place, number = self.path / EARLIER / run, 1
        while any((place / name).exists() for name in names):
            number += 1
            place = self.path / EARLIER / f"{run}-{number}"
        return place

    def _copy_skill(self, skill: Skill) -> None:
        """Copy every file of the skill into a temporary folder and rename it: a partial copy never looks complete."""
        with explain_output_errors(self.skill):
            partial = self.path / f".{SKILL}-half"
            shutil.rmtree(partial, ignore_errors=True)
            for file in skill.files:
                place = partial / PurePosixPath(file.path)
                place.parent.mkdir(parents=True, exist_ok=True)
                if file.data is not None:
                    place.write_bytes(file.data)
                elif file.origin is not None:
                    shutil.copyfile(file.origin, place)
                place.chmod(0o755 if file.executable else 0o644)
            partial.mkdir(parents=True, exist_ok=True)
            partial.rename(self.skill)
            sync_folder(self.path)


def _ledger_of(path: Path) -> Path:
    """The ledger of a run: its own, or that of the folder above, which earlier runs and agents of a matrix share."""
    own = path / LEDGER
    if path.parent.name in {AGENTS, EARLIER} and not own.exists():
        return _ledger_of(path.parent.parent)
    return own


def _fingerprint(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=16).digest()


def answers_in(record: ChainRecord) -> int:
    """How many scores a chain requested; the last prefix is the full anchor and is not requested again."""
    anchors = (record.empty, record.full, *record.trigger)
    asked = sum(step.position < len(record.plan.order) - 1 for step in record.steps)
    return len(record.plan.window.tasks) * (len(anchors) + asked)
